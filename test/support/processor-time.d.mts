export function processorTime(id?: number | 'self'): number;
