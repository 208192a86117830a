"""Pictures of what was learned: of a table's rules, and of clauses that look at images.

Needs matplotlib: pip install "cotm[plot]". The pictures go to the folder that is named, or to
"pictures".
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window

from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from cotm import CoTMClassifier, ImageThermometer
from cotm.plotting import (
    CalibrationDisplay,
    ClausesDisplay,
    ConfusionDisplay,
    ExplanationDisplay,
    FiringDisplay,
    HeatMapDisplay,
    ImportanceDisplay,
    LearningCurveDisplay,
    RulesDisplay,
)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "pictures")
folder.mkdir(parents=True, exist_ok=True)


def keep(display, name):
    display.figure_.savefig(folder / f"{name}.png", dpi=80)


data = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(data.data, data.target_names[data.target], random_state=0)
table = CoTMClassifier(max_literals=4, random_state=0).fit(X, y)
keep(RulesDisplay.from_estimator(table, X, y, label="malignant", top=8), "rules")
keep(ImportanceDisplay.from_estimator(table, label="malignant", top=10), "importance")
keep(ExplanationDisplay.from_estimator(table, X_test[:20], X[:50], i=3, top=8), "explanation")
keep(LearningCurveDisplay.from_estimator(table), "learning-curve")
keep(CalibrationDisplay.from_estimator(table, X_test, y_test), "calibration")

digits = load_digits()
images, labels = digits.images / 16, digits.target
model = CoTMClassifier(
    60, epochs=8, average=1, patch_shape=(4, 4), booleanize=ImageThermometer(1), random_state=0
).fit(images[:1400], labels[:1400])
keep(ConfusionDisplay.from_estimator(model, images[1400:], labels[1400:]), "confusion")
keep(ClausesDisplay.from_estimator(model, label=3, top=12), "clauses")
keep(HeatMapDisplay.from_estimator(model, images, i=1403), "heat-map")
clause = model.rules(label=3, top=1)[0].clause
keep(FiringDisplay.from_estimator(model, images[1400:], clause), "firing")

print(f"accuracy {table.score(X_test, y_test):.3f}, {len(list(folder.glob('*.png')))} pictures")
