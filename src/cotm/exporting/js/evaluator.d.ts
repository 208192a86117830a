/** A cell of a table's row; missing ones are null, undefined or NaN. */
export type Cell = number | string | boolean | Date | null | undefined;

/** An image's values, row by row, its channels side by side; or a table's row, in order or by name. */
export type Example = ArrayLike<number> | readonly Cell[] | Readonly<Record<string, Cell>>;

export type Label = string | number | boolean;

/** A clause that votes on an example, and how often its weights count. */
export interface Firing {
  member: number;
  clause: number;
  output: number;
}

/** How quantities come of votes: votes / unit + offset of each output; one is whether it is one number. */
export interface Quantities {
  unit: readonly number[];
  offset: readonly number[];
  one: boolean;
}

/** A classifier or regressor made of rules. */
export class Model {
  constructor(data: unknown);
  readonly classes: readonly Label[];
  readonly multilabel: boolean;
  /** Of regressors, else null. */
  readonly quantities: Quantities | null;
  /** Votes for each output; of joined models that divide them as bigint, in units of 2**-32. */
  votes(example: Example): number[] | bigint[];
  /** The label with the most votes; with several labels all with 0 votes or more; or quantities. */
  predict(example: Example): Label | Label[] | number[];
  /** A probability for each output, of classifiers. */
  probabilities(example: Example): number[];
  /** How often the weights of each clause count, a list for each member. */
  outputs(example: Example): Int32Array[];
  /** What votes, and predictions and probabilities, come of such outputs, and such votes. */
  votesOf(outputs: readonly ArrayLike<number>[]): number[] | bigint[];
  labelOf(votes: readonly number[] | readonly bigint[]): Label | Label[] | number[];
  probabilitiesOf(votes: readonly number[] | readonly bigint[]): number[];
  /** The clauses that vote on an example. */
  firing(example: Example): Firing[];
}
