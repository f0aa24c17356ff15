// What the service is held to. A ratio is of answers a second, unless it says otherwise.

const answers = ({ perSecond }) => perSecond;
const ownTime = ({ server }) => server;
const allTime = ({ server, postgres }) => server + postgres;

const faster = (what, name, other, atLeast) => ({
  what,
  atLeast,
  chart: true,
  measure: ({ figures }) => figures.compare(name, other, answers),
});

const cheaper = (what, name, other, atMost, time = allTime) => ({
  what,
  atMost,
  measure: ({ figures }) => figures.compare(name, other, time),
});

/**
 * `service` is asked what it has not been asked before, and looks it up in its memory in vain; with `/again` what it may remember;
 * `forgetful` remembers no answers, like those it is compared with.
 */
const GOALS = [
  faster('Q1, not remembered ÷ by hand', 'service/members', 'hand-written/members', 1.4),
  faster('Q1, not remembered ÷ PostGraphile', 'service/members', 'postgraphile/members', 3.5),
  faster('Q1, like for like ÷ by hand', 'forgetful/members', 'hand-written-alike/members', 0.75),
  faster('Q1, like for like ÷ PostGraphile', 'forgetful/members', 'postgraphile-alike/members', 2),
  faster('Q1, remembered ÷ by hand', 'service/members/again', 'hand-written/members', 8),
  faster('Q1, remembered ÷ PostGraphile', 'service/members/again', 'postgraphile/members', 20),
  faster('Q1, not remembered ÷ asking slapd', 'service/members', 'slapd/members', 2.5),
  faster('Q1, remembered ÷ asking slapd', 'service/members/again', 'slapd/members', 12),
  faster('Q2, not remembered ÷ by hand', 'forgetful/profile', 'hand-written/profile', 0.7),
  faster('Q2, not remembered ÷ PostGraphile', 'forgetful/profile', 'postgraphile/profile', 2.3),
  faster('Q3 ÷ by hand', 'service/build', 'hand-written/build', 0.4),
  faster('Q3 ÷ PostGraphile', 'service/build', 'postgraphile/build', 1),
  faster('Q4, not remembered ÷ by hand', 'service/largestPage', 'hand-written/largestPage', 1.4),
  faster('Q5, not remembered ÷ PostGraphile', 'service/search', 'postgraphile/search', 1.5),
  {
    what: 'Q5, not remembered: 99 of 100 answers within, in ms',
    atMost: 50,
    measure: ({ figures }) => figures.of('service/search').p99,
  },
  cheaper(
    'Q1, not remembered: its own processor time ÷ by hand',
    'service/members',
    'hand-written/members',
    0.9,
    ownTime,
  ),
  cheaper(
    'A page from the last tenth of a large group ÷ its first page, processor time',
    'forgetful/deep',
    'forgetful/first',
    1.2,
  ),
  cheaper('The last page ÷ the first, processor time', 'forgetful/last', 'forgetful/first', 1.2),
  cheaper('A page with its total ÷ without, processor time', 'forgetful/first', 'forgetful/uncounted', 1.2),
  cheaper(
    'Q1 with ten times the memberships ÷ without, processor time',
    'more/members',
    'forgetful/members',
    1.2,
  ),
  cheaper(
    'Q1 by two processes, five hundred a second each ÷ by one, processor time',
    'twice/members/paced',
    'service/members/paced',
    1.1,
  ),
  {
    what: 'The most memory that a process held, in MB',
    atMost: 300,
    measure: ({ memory }) => memory.most,
  },
];

/**
 * @param {{ figures: import('../measure/figures.mjs').Figures, memory: { most: number } }} results
 * @returns each goal with its value, and whether it is met; null where it was not measured
 */
export function judge(results) {
  return GOALS.map(({ measure, ...goal }) => {
    const value = measure(results);
    const isMet =
      value === null ? null : goal.atLeast === undefined ? value <= goal.atMost : value >= goal.atLeast;
    return { ...goal, value, isMet };
  });
}
