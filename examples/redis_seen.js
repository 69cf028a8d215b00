// Prints each line of stdin the first time that anybody sends it: programs share one filter in
// Redis. Then moves a line that came twice from the list of new ones to that of the known.
//
//    scripts/run redis &
//    printf 'pear\nplum\npear\n' | node examples/redis_seen.js
//
// Needs Node's package `redis` (Debian: node-redis, with NODE_PATH=/usr/share/nodejs) and a server
// with bloomery.so at REDIS_URL, or on this machine.
// If the filter is wrong: a new line is taken for an old one, at most one of a thousand.
const readline = require('readline');
const { createClient } = require('redis');

async function main() {
  const client = createClient({ url: process.env.REDIS_URL || 'redis://127.0.0.1:6379' });
  client.on('error', (error) => {
    console.error(`redis_seen: ${error.message}`);
    process.exit(2);
  });
  await client.connect();

  if (!(await client.exists('seen'))) await client.bf.reserve('seen', 0.001, 1000000);
  const repeats = new Set();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    // A cuckoo filter counts, and forgets when it is told to.
    await client.cf.add('counts', line);
    if (await client.bf.add('seen', line)) console.log(line);
    else repeats.add(line);
  }
  for (const line of repeats) {
    console.error(`${line}: ${await client.cf.count('counts', line)} times`);
    while (await client.cf.del('counts', line));
  }

  const info = await client.bf.info('seen');
  console.error(`${info.numberOfInsertedItems} lines, ${info.size} bytes`);
  await client.quit();
}

main();
