#!/usr/bin/python3
"""Writes optim.csv and schedule.csv: what PyTorch's optimisers and schedulers do, for tests/nn/test_optim.c and
test_schedule.c. Made once with torch 1.13:  /usr/bin/python3 tests/nn/reference/optim.py

optim.csv     case,step,x0,...,x6   parameters after the step; gradient(i, t) is the same in the test
schedule.csv  case,step,rate        the rate that the step (from 0) is made with
"""
import os
import torch
from torch.optim import SGD, Adam, AdamW, lr_scheduler as sched

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT, STEPS = 7, 12


def start(i):
    return (i - 3) * 0.5


def gradient(i, t):
    return ((i * 7 + t * 13) % 11 - 5) / 8 * 2.0 ** (i - 3)


OPTIMS = {
    "sgd": lambda p: SGD(p, lr=0.05),
    "sgd decay": lambda p: SGD(p, lr=0.05, weight_decay=0.1),
    "momentum": lambda p: SGD(p, lr=0.05, momentum=0.9, weight_decay=0.1),
    "nesterov": lambda p: SGD(p, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.1),
    "adam": lambda p: Adam(p, lr=0.02),
    "adam decay": lambda p: Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1),
    "adamw": lambda p: AdamW(p, lr=0.02, weight_decay=0.1),
    # only parameters 2 to 4 decay
    "adamw range": lambda p: AdamW([{"params": [p[0]], "weight_decay": 0}, {"params": [p[1]], "weight_decay": 0.5},
                                    {"params": [p[2]], "weight_decay": 0}], lr=0.02),
}


def run_optim(name, make):
    cuts = [(0, 2), (2, 5), (5, 7)] if name.endswith("range") else [(0, 7)]
    parts = [torch.tensor([start(i) for i in range(a, b)], requires_grad=True) for a, b in cuts]
    optim = make(parts)
    for t in range(STEPS):
        for part, (a, b) in zip(parts, cuts):
            part.grad = torch.tensor([gradient(i, t) for i in range(a, b)])
        optim.step()
        yield t, [x for part in parts for x in part.detach().tolist()]


def cosine_with_warmup(o):
    warm = sched.LinearLR(o, start_factor=0.25, total_iters=5)
    return sched.SequentialLR(o, [warm, sched.CosineAnnealingLR(o, T_max=25, eta_min=0.01)], milestones=[5])


SCHEDULES = {  # name: (steps, maker)
    "constant": (5, lambda o: sched.ConstantLR(o, factor=1)),
    "step": (25, lambda o: sched.StepLR(o, step_size=7, gamma=0.3)),
    "cosine": (31, lambda o: sched.CosineAnnealingLR(o, T_max=30, eta_min=0.01)),
    "cosine warm-up": (31, cosine_with_warmup),
    "one-cycle": (40, lambda o: sched.OneCycleLR(o, max_lr=0.2, total_steps=40)),
    "one-cycle other": (33, lambda o: sched.OneCycleLR(o, max_lr=0.2, total_steps=33, pct_start=0.45, div_factor=10,
                                                        final_div_factor=100)),
    "cyclic": (40, lambda o: sched.CyclicLR(o, 0.02, 0.2, step_size_up=6, step_size_down=9, cycle_momentum=False)),
    "cyclic halved": (40, lambda o: sched.CyclicLR(o, 0.02, 0.2, step_size_up=5, mode="triangular2",
                                                    cycle_momentum=False)),
}


def run_schedule(steps, make):
    optim = SGD([torch.zeros(1, requires_grad=True)], lr=0.2)
    scheduler = make(optim)
    for t in range(steps):
        yield t, optim.param_groups[0]["lr"]
        optim.step()
        if t + 1 < steps:
            scheduler.step()


def loss(t):
    """Falls, waits, falls, waits for long; the same in the test."""
    return [10, 8, 7, 7, 7.5, 6.9999, 7, 7, 5, 5, 5, 5, 5, 5, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4][t]


def run_plateau():
    optim = SGD([torch.zeros(1, requires_grad=True)], lr=0.2)
    scheduler = sched.ReduceLROnPlateau(optim, factor=0.3, patience=2, cooldown=1, min_lr=0.003)
    for t in range(30):
        yield t, optim.param_groups[0]["lr"]
        scheduler.step(loss(t))


with open(os.path.join(HERE, "optim.csv"), "w") as out:
    out.write("case,step," + ",".join("x%d" % i for i in range(COUNT)) + "\n")
    for name, make in OPTIMS.items():
        for t, x in run_optim(name, make):
            out.write("%s,%d,%s\n" % (name, t, ",".join("%.9g" % v for v in x)))

with open(os.path.join(HERE, "schedule.csv"), "w") as out:
    out.write("case,step,rate\n")
    for name, (steps, make) in SCHEDULES.items():
        for t, rate in run_schedule(steps, make):
            out.write("%s,%d,%.12g\n" % (name, t, rate))
    for t, rate in run_plateau():
        out.write("plateau,%d,%.12g\n" % (t, rate))
