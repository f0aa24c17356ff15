/** A number with its noun: «1 group», «2 groups», «2,000 entries». */
export const counted = (count: number, singular: string, plural = `${singular}s`) =>
  `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
