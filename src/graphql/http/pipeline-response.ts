/** A response of the endpoint, before the headers that every response has. */
export interface PipelineResponse {
  readonly status: number;
  /** The media type. */
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}
