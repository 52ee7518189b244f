/** The kinds of settings. Each becomes a part of the JSON Schema that the host checks a configuration against. */

/** A setting whose value is a `V`. */
export interface Setting<V> {
  readonly schema: Readonly<Record<string, unknown>>;
  read(value: unknown, path: string): V;
}

/** Settings by key. */
export type Settings = Readonly<Record<string, Setting<any>>>;

/** The values of settings. */
export type Values<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer V> ? V : never };

/**
 * What is there when a configuration leaves a setting out: its default, or `undefined` where it is optional. Without
 * either, a configuration has to give it.
 */
export interface Missing<V> {
  readonly default?: V;
  readonly optional?: boolean;
}

/** A range of numbers; without a bound there is none on that side. */
export interface Ranged {
  /** The lowest value. */
  readonly min?: number;
  /** The highest value. */
  readonly max?: number;
  /** Every value is more than this. */
  readonly above?: number;
  /** Every value is less than this. */
  readonly below?: number;
}

/** How many there are. */
export interface Counted {
  readonly min?: number;
  readonly max?: number;
}

/** The value of a setting with these options. */
type Value<V, O> = O extends { readonly optional: true } ? V | undefined : V;

/** One of some words. */
export type Choices = readonly [string, ...string[]];

/**
 * A number. NaN and the infinities are read from the words `NaN`, `Infinity` and `-Infinity`.
 *
 * @param description what it means, with its unit; shown to whoever configures a run
 */
export function number<const O extends Missing<number> & Ranged>(
  description: string,
  options?: O,
): Setting<Value<number, O>>;

/** A whole number, up to 2^53 - 1 on both sides. */
export function integer<const O extends Missing<number> & Ranged>(
  description: string,
  options?: O,
): Setting<Value<number, O>>;

/** True or false. */
export function boolean<const O extends Missing<boolean>>(description: string, options?: O): Setting<Value<boolean, O>>;

/** A text. */
export function text<const O extends Missing<string>>(description: string, options?: O): Setting<Value<string, O>>;

/** One of some words. */
export function choice<const W extends Choices, const O extends Missing<W[number]>>(
  description: string,
  words: W,
  options?: O,
): Setting<Value<W[number], O>>;

/** A list of settings of one kind, whose own default does not count. */
export function list<V, const O extends Missing<readonly V[]> & Counted>(
  description: string,
  item: Setting<V>,
  options?: O,
): Setting<Value<readonly V[], O>>;

/** A table of settings of one kind, under names that whoever configures the run chooses. */
export function table<V, const O extends Missing<Readonly<Record<string, V>>>>(
  description: string,
  item: Setting<V>,
  options?: O,
): Setting<Value<Readonly<Record<string, V>>, O>>;
