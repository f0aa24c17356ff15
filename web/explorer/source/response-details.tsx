import { lastResponse } from './run-operation.js';
import type { RateLimit } from './rate-limit.js';
import { useStore } from './store.js';

/** The cost of the last operation, the remaining limits, and the pictures whose URLs are in the response. */
export function ResponseDetails() {
  const response = useStore(lastResponse);
  return (
    <div className="response-details">
      <p role="status" className="cost">
        {response === null
          ? 'Run an operation to see its cost.'
          : describe(response.status, response.rateLimit)}
      </p>
      {response === null || response.pictures.length === 0 ? null : (
        <ul className="pictures" aria-label="Pictures in the response" tabIndex={0}>
          {response.pictures.map(({ url, name }) => (
            <li key={url}>
              <img src={url} alt={name} title={name} />
              <span aria-hidden="true">{name}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function describe(status: number, { cost, points, requests }: RateLimit): string {
  const parts = [
    cost === undefined ? null : `Cost: ${count(cost, 'point')}`,
    points === undefined ? null : `${count(points, 'point')} left this hour`,
    requests === undefined ? null : `${count(requests, 'request')} left this minute`,
    status === 200 ? null : `HTTP ${status.toString()}`,
  ];
  return parts.filter((part) => part !== null).join(' · ');
}

function count(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
}
