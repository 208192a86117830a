"""The figures of the paper's tables, as printed there."""

#: The columns of the tables of images: clauses per class.
COLUMNS = (50, 100, 250, 500, 1000, 2000, 4000, 8000)

#: Per data set and column: voting margin, specificity, accuracies in per cent, seconds per epoch on
#: a V100.
CLAUSES = {
    "mnist": {
        "T": (625, 1250, 3125, 6250, 12_500, 25_000, 5000, 10_000),
        "s": (10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 5.0, 5.0),
        "weighted": (97.86, 98.43, 98.82, 98.98, 99.14, 99.22, 99.28, 99.33),
        "coalesced": (98.33, 98.80, 99.03, 99.14, 99.18, 99.21, 99.26, 99.29),
        "train_seconds": (21.6, 21.0, 21.1, 21.3, 20.9, 24.1, 42.6, 86.7),
        "test_seconds": (1.7, 1.6, 1.6, 1.6, 1.5, 1.6, 4.0, 6.5),
    },
    "fashion-mnist": {
        "T": (625, 1250, 3125, 6250, 12_500, 2500, 5000, 10_000),
        "s": (15.0,) * 8,
        "weighted": (82.33, 83.73, 88.25, 88.79, 89.42, 89.89, 90.65, 91.18),
        "coalesced": (86.79, 87.4, 88.0, 89.20, 89.83, 90.00, 90.71, 91.18),
        "train_seconds": (25.1, 24.1, 24.3, 23.3, 23.7, 25.3, 45.6, 81.9),
        "test_seconds": (1.6, 1.6, 1.6, 1.5, 1.7, 1.6, 4.1, 6.4),
    },
    "kmnist": {
        "T": (625, 1250, 3125, 6250, 1250, 2500, 5000, 10_000),
        "s": (10.0,) * 8,
        "weighted": (71.99, 89.19, 92.75, 93.86, 94.89, 95.40, 95.85, 96.08),
        "coalesced": (89.66, 91.92, 93.71, 94.65, 95.05, 95.77, 96.17, 96.33),
        "train_seconds": (24.2, 23.4, 23.4, 23.7, 23.7, 25.6, 47.3, 85.1),
        "test_seconds": (1.7, 1.6, 1.6, 1.6, 1.6, 1.6, 4.1, 6.4),
    },
}
#: Kilobytes of a model, per column.
MODEL_KB = (22, 44, 110, 220, 439, 879, 1758, 3516)

#: Epochs after which MNIST test accuracy passes 99.3 %, 8,000 clauses per class.
LEARNING_SPEED = {"coalesced": 19, "weighted": 57}

#: Test accuracy in per cent: 2D Noisy XOR, MNIST, Kuzushiji-MNIST, Fashion-MNIST. The paper
#: measured the first column and the last four rows itself and quotes the rest.
BASELINES: dict[str, tuple[float | None, float | None, float | None, float | None]] = {
    "4-nearest neighbour": (61.62, 97.14, 91.56, 85.40),
    "SVM": (94.63, 98.57, 92.82, 89.7),
    "random forest": (70.73, 97.3, None, 81.6),
    "gradient boosting": (87.15, 96.9, None, 88.0),
    "simple CNN": (91.05, 99.06, 95.12, 90.7),
    "BinaryConnect": (None, 98.99, None, None),
    "FPGA-accelerated BNN": (None, 98.70, None, None),
    "logistic circuit (binary)": (None, 97.4, None, 87.6),
    "logistic circuit (real-valued)": (None, 99.4, None, 91.3),
    "PreActResNet-18": (None, 99.56, 97.82, 92.0),
    "ResNet18 + VGG ensemble": (None, 99.60, 98.90, None),
    "TM": (99.12, 98.57, 92.03, 90.09),
    "CoTM (mean)": (99.99, 99.31, 96.65, 91.83),
    "CoTM (95th percentile)": (100.0, 99.34, 96.70, 91.93),
    "CoTM (peak)": (100.0, 99.36, 96.71, 92.0),
}

#: Points of IMDb test accuracy lost when a share of the positive reviews is removed.
IMDB_REMOVED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
IMDB_LOSS = {
    "plain": (0.0, 1.0, 4.3, 7.9, 10.3, 17.2, 24.8, 27.3, 29.5, 30.5),
    "coalesced": (0.0, 0.5, 0.2, 0.0, 0.2, 0.4, 0.4, 0.8, 1.4, 2.8),
}

#: F1 per class of CIFAR-10 with 5,000 * 0.5**rank training images of the class of each rank.
CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer",
                 "dog", "frog", "horse", "ship", "truck")  # fmt: skip
CIFAR_F1 = {
    "coalesced": (0.47, 0.50, 0.36, 0.36, 0.26, 0.15, 0.02, 0.04, 0.00, 0.00),
    "plain": (0.39, 0.42, 0.25, 0.20, 0.10, 0.00, 0.00, 0.00, 0.00, 0.00),
}
