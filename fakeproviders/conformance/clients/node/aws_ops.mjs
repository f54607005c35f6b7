// AWS SDK for JavaScript v3: an operation is a service and an operation of its API, "ecs.RunTask", with the
// API's own arguments. The module is @aws-sdk/client-SERVICE.
export async function run(call) {
  const [service, operation] = call.op.split('.');
  const sdk = await import(`@aws-sdk/client-${service}`);
  const client = call.keep(() => new sdk[`${sdkName(sdk)}Client`]({
    endpoint: call.base, region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' },
  }));
  try {
    const { $metadata, ...answer } = await client.send(new sdk[`${operation}Command`](call.args));
    return { answer, headers: { 'x-amzn-requestid': $metadata.requestId, attempts: $metadata.attempts } };
  } finally {
    if (!call.session) client.destroy();
  }
}

// sdkName is the service's name in the module: ECS of ECSClient.
function sdkName(sdk) {
  return Object.keys(sdk).find((name) => name.endsWith('Client') && name !== '__Client').slice(0, -'Client'.length);
}

export function error(e) {
  if (e?.$metadata?.httpStatusCode) {
    const { name, message, $metadata, $fault, $response, $retryable, ...more } = e;
    return { type: name, status: $metadata.httpStatusCode, code: name, message, more };
  }
  if (e?.$metadata || e?.code) return { type: e.name, code: e.code, message: e.message };
  return null;
}
