"""The posterior of the curve with the positions integrated out."""
