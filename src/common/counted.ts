/** A number with its noun: «1 group», «2 groups», «2 entries». */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}
