/** The most arguments that PostgreSQL takes in a call. */
const MOST_ARGUMENTS = 100;

/** SQL for a JSON array of any number of values, each of which has a type. */
export function jsonArray(values: readonly string[]): string {
  if (values.length <= MOST_ARGUMENTS) return `json_build_array(${values.join(', ')})`;
  // One argument, which takes longer: an array whose elements have one type.
  return `json_build_array(variadic array[${values.map((value) => `to_json(${value})`).join(', ')}])`;
}
