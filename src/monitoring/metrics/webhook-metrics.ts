import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { WebhookEntity } from '../../webhooks/webhook.entity.js';
import type { LabelledValue, Metric, MetricGroup } from './metric.js';

/** The state of the receivers of changes, as the leader stores it. */
@Injectable()
export class WebhookMetrics implements MetricGroup {
  readonly metrics: readonly Metric[] = [
    {
      name: 'directory_webhook_enabled',
      help: 'Whether changes are sent to the receiver: 0 after three days of failures',
      aggregator: 'max',
      read: () => this.ofEach(({ disabledAt }) => (disabledAt === null ? 1 : 0)),
    },
    {
      name: 'directory_webhook_failing_seconds',
      help: 'Seconds for which the receiver has not accepted a change',
      aggregator: 'max',
      read: () =>
        this.ofEach(({ failingSince }) =>
          failingSince === null ? 0 : Math.max(0, (Date.now() - failingSince.getTime()) / 1000),
        ),
    },
  ];

  private states: readonly WebhookEntity[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(DataSource) private readonly dataSource: DataSource,
  ) {}

  async refresh(): Promise<void> {
    if (this.config.webhooks.length === 0) return;
    // Without the database, the last known state remains.
    this.states = await this.dataSource
      .getRepository(WebhookEntity)
      .find()
      .catch(() => this.states);
  }

  private ofEach(valueOf: (state: WebhookEntity) => number): LabelledValue[] {
    return this.config.webhooks.flatMap(({ id }): LabelledValue[] => {
      const state = this.states.find((each) => each.id === id);
      return state === undefined ? [] : [[{ target: id }, valueOf(state)]];
    });
  }
}
