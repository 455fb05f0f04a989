# R's principal curves of every FOLDER/*.csv (points in rows): FOLDER/*.out has the curve in its order.
# Names that begin with "closed" are closed curves.
library(princurve)
folder <- commandArgs(trailingOnly = TRUE)[1]
for (file in list.files(folder, "[.]csv$", full.names = TRUE)) {
  points <- as.matrix(read.csv(file, header = FALSE))
  closed <- startsWith(basename(file), "closed")
  fit <- principal_curve(points, smoother = if (closed) "periodic_lowess" else "smooth_spline", maxit = 50)
  out <- fit$s[fit$ord, , drop = FALSE]
  if (closed) out <- rbind(out, out[1, ])
  write.table(out, sub("csv$", "out", file), sep = ",", row.names = FALSE, col.names = FALSE)
}
