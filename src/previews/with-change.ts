/** A value with what is given of it, in the place of what was there; undefined: it stays (pure). */
export function withChange<Value extends object>(value: Value, change: Partial<Value>): Value {
  const given = Object.entries(change).filter(([, each]) => each !== undefined);
  return { ...value, ...(Object.fromEntries(given) as Partial<Value>) };
}
