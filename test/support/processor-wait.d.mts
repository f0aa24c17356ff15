export function processorWait(id?: number | 'self'): number;
