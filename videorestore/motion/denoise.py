"""Denoising of natural video: Gaussian posterior means along motion and over groups of similar patches.

Every output frame is a function of the frames within `REACH` of it, so a window with such a halo gives the same
bits as the whole clip.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.motion.flow import fast_flow
from videorestore.motion.warp import grid
from videorestore.spatial.dct import from_planes, shrink_in_planes, to_planes, variance_from_planes, variance_to_planes
from videorestore.spatial.noise import Noise
from videorestore.spatial.patches import restore


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    temporal: int
    patches: int
    group: int
    passes: int
    own: int = 12
    own_radius: int = 7
    radius: int = 3
    cover: int = 1
    step: int = 6
    tune: tuple = (0.0, 0.5, 0.02)
    rounds: int = 1
    ksub: tuple = (0.05, 0.05)
    kmul: tuple = (8.0, 8.0)
    dct1: int = 4
    dct2: int = 2


PRESETS = {
    "fast": Preset(temporal=4, patches=0, group=0, passes=0),
    "default": Preset(temporal=5, patches=6, group=48, passes=1),
    "best": Preset(temporal=5, patches=6, group=64, passes=2),
}
REACH = 12


def _luma8(plane, f=1 / np.sqrt(3)):
    return np.clip(np.rint(plane * np.float32(f)), 0, 255).astype(np.uint8)


def flows(lumas):
    f = [fast_flow(a, b) for a, b in zip(lumas[:-1], lumas[1:])]
    b = [fast_flow(b, a) for a, b in zip(lumas[:-1], lumas[1:])]
    return f, b


def temporal(noisy, d0, variance, fwd, bwd, t, reach, ksub=0.06, kmul=3.0, codec=False):
    """noisy (n,h,w,c) interleaved opponent, d0 likewise, variance (n,h,w,c)"""
    n, h, w, c = noisy.shape
    gx, gy = grid(h, w)
    total = noisy[t].copy()
    mass = np.ones((h, w), np.float32)
    second = np.ones((h, w), np.float32)
    s2 = variance[t].mean(-1)
    own = d0[t]
    tied = np.zeros((h, w), np.float32)
    for side in (1, -1):
        fl = None
        for k in range(reach):
            s = t + side * k
            e = s + side
            if not 0 <= e < n:
                break
            single = fwd[s] if side == 1 else bwd[e]
            if fl is None:
                fl = single
            else:
                fl = fl + cv2.remap(single, mx, my, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
            mx, my = gx + fl[..., 0], gy + fl[..., 1]
            wn = cv2.remap(noisy[e], mx, my, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE).reshape(h, w, c)
            wd = cv2.remap(d0[e], mx, my, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE).reshape(h, w, c)
            q = np.square(wd - own).mean(-1)
            q = cv2.blur(q, (7, 7), borderType=cv2.BORDER_REFLECT)
            q = np.maximum(q - np.float32(ksub) * s2, 0)
            wt = np.square(s2 / (s2 + np.float32(kmul) * q + 1e-9))
            if codec:
                qn = cv2.blur(np.square(wn - noisy[t]).mean(-1), (9, 9), borderType=cv2.BORDER_REFLECT)
                tied += wt * np.clip(1 - qn / (np.float32(CK) * s2 + 1e-9), 0, 1)
            total += wt[..., None] * wn
            mass += wt
            second += wt * wt
    left = second / (mass * mass)
    if codec:
        rho = tied / np.maximum(mass - 1, 1e-6)
        left = rho + (1 - rho) * left
    return total / mass[..., None], variance[t] * left[..., None]


CK = 1.7


def denoise(frames, noise, *, quality="default", strength=1.0, start=0, stop=None):
    p = PRESETS[quality]
    noise = noise.scaled(strength)
    frames = np.asarray(frames, np.float32)
    n, h, w, c = frames.shape
    blurred = np.stack([cv2.blur(f, (7, 7), borderType=cv2.BORDER_REFLECT).reshape(h, w, c) for f in frames])
    variance = noise.variance(blurred)
    if noise.codec:
        Ym = np.array([[.299,.587,.114],[-.168736,-.331264,.5],[.5,-.418688,-.081312]],np.float32)
        scale = np.array([1/.669, 1/.623, 1/.657],np.float32)
        Bm = Ym*scale[:,None]
        planes = np.ascontiguousarray(np.moveaxis(frames @ Bm.T, -1, -3))
        var = np.ascontiguousarray(np.broadcast_to(np.float32(noise.sd)**2, planes.shape))
    else:
        planes = to_planes(frames)
        var = variance_to_planes(variance)
    d0 = np.stack([shrink_in_planes(a, v, step=p.dct1)[0] for a, v in zip(planes, var)])
    lum = [_luma8(a[0]) for a in d0]
    fwd, bwd = flows(lum)
    inter = lambda a: np.ascontiguousarray(np.moveaxis(a, 1, -1))
    ni, di, vi = inter(planes), inter(d0), inter(var)
    for r in range(p.rounds):
        guide = np.empty_like(planes)
        gvar = np.empty_like(planes)
        if r:
            di = inter(last)
            fwd, bwd = flows([_luma8(a[0]) for a in last])
        for t in range(n):
            m, v = temporal(ni, di, vi, fwd, bwd, t, p.temporal, p.ksub[r], p.kmul[r], noise.codec)
            m, v = (np.ascontiguousarray(np.moveaxis(a, -1, 0)) for a in (m, v))
            guide[t], gvar[t] = shrink_in_planes(m, v, step=p.dct2)
        last = guide
    result, rvar = guide, gvar
    for k in range(p.passes):
        lum = [_luma8(a[0]) for a in result]
        fwd, bwd = flows(lum)
        result, rvar = restore(planes, result, var, np.array(fwd), np.array(bwd), 0, n, p)
    if noise.codec:
        inv = np.linalg.inv(Bm).astype(np.float32)
        return np.moveaxis(result,-3,-1) @ inv.T, np.sqrt(np.moveaxis(rvar,-3,-1) @ np.square(inv).T)
    out = noise.unclip(from_planes(result))
    return out, np.sqrt(variance_from_planes(rvar))
