from sklearn.datasets import load_digits

from cotm import CoTMClassifier

digits = load_digits()
X = digits.images > 7
y = digits.target

model = CoTMClassifier(
    n_clauses=100,
    T=100,
    s=5.0,
    patch_shape=(4, 4),  # height, width
    epochs=5,
    random_state=1,
)
model.fit(X[:1500], y[:1500])
labels, votes = model.predict(X[1500:]), model.votes(X[1500:])
fires = model.clause_outputs(X[1500:])
print((labels == y[1500:]).mean())
