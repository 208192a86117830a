from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cotm import CoTMClassifier

X, y = load_digits(return_X_y=True)  # numbers become bits by themselves
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

model = CoTMClassifier(
    n_clauses=200,
    T=100,
    s=5.0,
    max_literals=12,
    epochs=10,
    random_state=1,
)
model.fit(X, y)
print(model.score(X_test, y_test))
