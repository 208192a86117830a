"""Tabular data: a classifier one can read."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from cotm import CoTMClassifier

data = load_breast_cancer(as_frame=True)
names = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(data.data, names, random_state=0)

model = CoTMClassifier(n_clauses=200, max_literals=6, random_state=0).fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f}")
for rule in model.rules(label="malignant", top=3):
    print(rule)
