export function processorTime(id?: number | 'self'): number;
export function processorWait(id?: number | 'self'): number;
