"""Images: clauses that slide over 8 x 8 digits as 4 x 4 patches."""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cotm import CoTMClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = CoTMClassifier(
    n_clauses=500, patch_shape=(4, 4), image_shape=(8, 8), epochs=20, verbose=1, random_state=0
)
model.fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f}")
