import { registerEnumType } from '@nestjs/graphql';

export enum OrderDirection {
  ASC = 'ASC',
  DESC = 'DESC',
}

registerEnumType(OrderDirection, {
  name: 'OrderDirection',
  description: 'Which end of an order comes first.',
  valuesMap: {
    ASC: { description: 'From A to Z, from few to many, from old to new.' },
    DESC: { description: 'From Z to A, from many to few, from new to old.' },
  },
});
