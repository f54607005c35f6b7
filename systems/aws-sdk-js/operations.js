// The calls of Amazon's families: which operation of which client, with which parameters, and what its answer says.
import { done, failed, partial, unknown } from 'sixthcopy-kit';

const whole = (number) => Math.trunc(Number(number));
const each = (value) => Array.isArray(value) ? value : [value];

/** Parameters by their names in the API, of the arguments that are given. */
const named = (args, names) => Object.fromEntries(Object.entries(names).filter(([ours]) => args[ours]).map(([ours, theirs]) => [theirs, args[ours]]));

const made = (...ids) => ids.length > 0 && ids.every(Boolean) ? done(...ids) : unknown('the answer names nothing that was made');

const queueUrl = (args) => `https://sqs.us-east-1.amazonaws.com/123456789012/${args.queue}`;

const transaction = {
  provider: 'items', client: 'dynamodb', command: 'TransactWriteItems', token: 'ClientRequestToken',
  claim: () => done(), // it is done as a whole, and the answer names nothing
};

export const operations = {
  run_task: {
    provider: 'tasks', client: 'ecs', command: 'RunTask', token: 'clientToken',
    parameters: (a) => ({
      taskDefinition: a.family, ...named(a, { cluster: 'cluster', group: 'group', reference: 'startedBy' }),
      ...('count' in a && { count: whole(a.count) }), ...('size' in a && { overrides: { cpu: String(a.size) } }),
    }),
    claim({ tasks = [], failures = [] }) {
      const started = tasks.map((t) => t.taskArn);
      if (failures.length === 0) return made(...started);
      return started.length > 0 ? partial(started, `${failures.length} tasks could not be placed`) : failed('no task could be placed');
    },
  },
  create_service: {
    provider: 'tasks', client: 'ecs', command: 'CreateService', token: 'clientToken',
    parameters: (a) => ({ serviceName: a.name, taskDefinition: a.family, desiredCount: whole(a.desired ?? 1), ...named(a, { cluster: 'cluster' }) }),
    claim: ({ service }) => made(service?.serviceArn),
  },
  run_instances: {
    provider: 'instances', client: 'ec2', command: 'RunInstances', token: 'ClientToken',
    parameters(a) {
      const count = whole(a.count ?? 1);
      const tags = Object.entries(named(a, { name: 'Name', reference: 'reference' })).map(([Key, Value]) => ({ Key, Value }));
      return {
        ImageId: a.image, MaxCount: count, MinCount: whole(a.minimum ?? count), ...named(a, { type: 'InstanceType' }),
        ...(a.zone && { Placement: { AvailabilityZone: a.zone } }),
        ...(tags.length > 0 && { TagSpecifications: [{ ResourceType: 'instance', Tags: tags }] }),
      };
    },
    claim: ({ Instances = [] }) => made(...Instances.map((i) => i.InstanceId)),
  },
  start_snapshot: {
    provider: 'snapshots', client: 'ebs', command: 'StartSnapshot', token: 'ClientToken',
    parameters: (a) => ({
      VolumeSize: whole(a.size), ...named(a, { description: 'Description', parent: 'ParentSnapshotId' }),
      ...(a.reference && { Tags: [{ Key: 'reference', Value: a.reference }] }),
    }),
    claim: ({ SnapshotId }) => made(SnapshotId),
  },
  book_seats: {
    ...transaction,
    parameters: (a) => ({
      TransactItems: each(a.seat).map((seat) => {
        const item = { flight: a.flight, seat, ...named(a, { guest: 'guest', note: 'note' }) };
        return {
          Put: {
            TableName: 'seats', ConditionExpression: 'attribute_not_exists(seat)',
            Item: Object.fromEntries(Object.entries(item).map(([name, text]) => [name, { S: text }])),
          },
        };
      }),
    }),
  },
  add_points: {
    ...transaction,
    parameters: (a) => ({
      TransactItems: each(a.account).map((account) => ({
        Update: {
          TableName: 'accounts', Key: { account: { S: account } },
          UpdateExpression: `ADD points :points${a.reason ? ' SET reason = :reason' : ''}`,
          ExpressionAttributeValues: { ':points': { N: String(whole(a.points)) }, ...(a.reason && { ':reason': { S: a.reason } }) },
        },
      })),
    }),
  },
  enqueue_message: {
    provider: 'queue', client: 'sqs', command: 'SendMessage', token: 'MessageDeduplicationId',
    parameters: (a) => ({ QueueUrl: queueUrl(a), MessageBody: a.body, ...named(a, { group: 'MessageGroupId' }) }),
    claim: ({ MessageId }) => made(MessageId),
  },
  enqueue_messages: {
    provider: 'queue', client: 'sqs', command: 'SendMessageBatch', token: 'MessageDeduplicationId',
    parameters: (a) => ({
      QueueUrl: queueUrl(a),
      Entries: each(a.body).map((text, i) => ({ Id: String(i + 1), MessageBody: text, ...named(a, { group: 'MessageGroupId' }) })),
    }),
    claim({ Successful = [], Failed = [] }) {
      const accepted = Successful.map((m) => m.MessageId);
      if (Failed.length === 0) return made(...accepted);
      return accepted.length > 0 ? partial(accepted, `${Failed.length} messages were not accepted`) : failed('no message was accepted');
    },
  },
};
