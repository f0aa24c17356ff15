import type { MigrationInterface, QueryRunner } from 'typeorm';
import { comparedText } from '../fields/value-filters.js';

/** School years are compared as the directory compares them: see comparedText. */
export class ComparedValues1763683200020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const years: { year: string }[] = (await runner.query(
      'select distinct school_year as year from users where school_year is not null',
    )) as never;
    const values = [years.map(({ year }) => year), years.map(({ year }) => comparedText({}, year))];
    for (const column of ['users.school_year', 'effective_memberships.user_school_year']) {
      const [table = '', name = ''] = column.split('.');
      await runner.query(`alter table ${table} add ${name}_compared text collate "C"`);
      await runner.query(
        `update ${table} set ${name}_compared = k.compared
         from unnest($1::text[], $2::text[]) k (year, compared) where ${name} = k.year`,
        values,
      );
    }
    await runner.query('drop index users_by_school_year');
    await runner.query(
      `create index users_by_school_year on users (coalesce(school_year_compared, ''), sort_name, key)`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table effective_memberships drop user_school_year_compared');
    await runner.query('alter table users drop school_year_compared');
    await runner.query(
      `create index users_by_school_year on users (coalesce(school_year, ''), sort_name, key)`,
    );
  }
}
