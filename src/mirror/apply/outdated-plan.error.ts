/** Another process has applied a revision since the plan was made. */
export class OutdatedPlanError extends Error {
  constructor() {
    super('The mirror has changed since the plan was made');
    this.name = 'OutdatedPlanError';
  }
}
