export function commandsIn(help: string): string[];
export function formatCommandsPage(helps: Readonly<Record<string, string>>): string;
