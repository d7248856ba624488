import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * The torture's client in Java: Redisson's locks. The protocol is in README.md beside
 * this file. Kinds: watchdog, lease, fair, rw, quorum.
 */
public final class Torture {
    private static final long STEP_MS = 10;
    private static final int REQUEST_MS = 1000;
    private static final long DUE_US = 4000000;
    private static final double RETURN_MARGIN = 0.9;
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private static volatile boolean stopping;

    private Torture() {
    }

    private static long nowUs() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1000000 + now.getNano() / 1000;
    }

    private static void say(String line) {
        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    private static RedissonClient connect(String url, long leaseMs) {
        Config config = new Config();
        config.setLockWatchdogTimeout(leaseMs);
        config.setCodec(StringCodec.INSTANCE);
        config.setThreads(8).setNettyThreads(4);
        if (url.startsWith("sentinel:")) {
            var sentinels = config.useSentinelServers().setMasterName("mymaster")
                    .setCheckSentinelsList(false);
            for (String port : url.split(":")[1].split(",")) {
                sentinels.addSentinelAddress("redis://127.0.0.1:" + port);
            }
            sentinels.setMasterConnectionMinimumIdleSize(1).setMasterConnectionPoolSize(16)
                    .setSlaveConnectionMinimumIdleSize(1).setSlaveConnectionPoolSize(4);
            sentinels.setSubscriptionConnectionMinimumIdleSize(1)
                    .setSubscriptionConnectionPoolSize(8);
            sentinels.setTimeout(REQUEST_MS).setConnectTimeout(REQUEST_MS).setRetryAttempts(1);
        } else {
            var single = config.useSingleServer().setAddress("redis://127.0.0.1:" + url);
            single.setConnectionMinimumIdleSize(1).setConnectionPoolSize(16);
            single.setSubscriptionConnectionMinimumIdleSize(1)
                    .setSubscriptionConnectionPoolSize(8);
            single.setTimeout(REQUEST_MS).setConnectTimeout(REQUEST_MS).setRetryAttempts(1);
        }
        return create(config);
    }

    /* A machine that is busy may let the first connection fail. */
    private static RedissonClient create(Config config) {
        for (int tries = 0;; tries++) {
            try {
                return Redisson.create(config);
            } catch (RedisException busy) {
                if (tries == 20) {
                    throw busy;
                }
            }
        }
    }

    /* One client for each server, which the rows share as an application would. */
    private static final Map<String, RedissonClient> CLIENTS = new HashMap<>();

    /** One row of the table: acquires, holds and releases until it must stop. */
    private static final class Row extends Thread {
        private final String row;
        private final String kind;
        private final String source;
        private final Random dice;
        private final long leaseMs;
        private final long waitMs;
        private final List<RedissonClient> clients = new ArrayList<>();
        private String side = "plain";
        private int calls;

        Row(String[] words) {
            row = words[1];
            kind = words[2];
            source = words[3];
            dice = new Random(Long.parseLong(words[4]));
            leaseMs = Long.parseLong(words[5]);
            waitMs = Long.parseLong(words[6]);
            setDaemon(true);
            for (int i = 7; i < words.length; i++) {
                clients.add(CLIENTS.computeIfAbsent(words[i], url -> connect(url, leaseMs)));
                Torture.say(row + " own " + clients.get(i - 7).getId() + ": " + source);
            }
        }

        private void say(String event) {
            Torture.say(row + " " + nowUs() + " " + source + " " + event);
        }

        private String what() {
            return "lock=" + row + " kind=" + side + " owner=" + source;
        }

        private boolean call(String op, String extra, long waitMs, Callable<Boolean> action) {
            long due = nowUs() + waitMs * 1000 + DUE_US;
            String status;
            calls++;
            say("ask call=" + calls + " op=" + op + " " + what() + extra + " due=" + due);
            try {
                status = action.call() ? "OK" : "TIMEOUT";
            } catch (Exception error) {
                status = error.getClass().getSimpleName();
            }
            say("end call=" + calls + " status=" + status);
            return status.equals("OK");
        }

        @SuppressWarnings("deprecation") /* the only lock of several servers */
        private RLock lock() {
            switch (kind) {
            case "fair":
                return clients.get(0).getFairLock(row);
            case "rw":
                side = dice.nextInt(2) == 0 ? "read" : "write";
                return side.equals("read") ? clients.get(0).getReadWriteLock(row).readLock()
                        : clients.get(0).getReadWriteLock(row).writeLock();
            case "quorum":
                return new RedissonRedLock(clients.stream().map(c -> c.getLock(row))
                        .toArray(RLock[]::new));
            default:
                return clients.get(0).getLock(row);
            }
        }

        private boolean isRenewed() {
            return kind.equals("watchdog") || kind.equals("rw");
        }

        private void hold(RLock lock, long until) throws InterruptedException {
            long most = dice.nextInt(4) == 0 ? leaseMs * 1500 : 300000;
            long end = nowUs() + 20000 + (long) (dice.nextDouble() * most);
            say("safe " + what() + " until=" + (isRenewed() ? "never" : until));
            while (nowUs() < end && (isRenewed() || nowUs() < until)) {
                Thread.sleep(STEP_MS);
            }
            say("safe " + what() + " until=0");
            call("release", "", 0, () -> {
                lock.unlock();
                return true;
            });
        }

        private void turn() throws InterruptedException {
            RLock lock = lock();
            long lease = isRenewed() ? -1 : leaseMs;
            String extra = (isRenewed() ? "" : " lease=" + leaseMs) + " wait=" + waitMs;
            if (call("acquire", extra, waitMs, () -> lock.tryLock(waitMs, lease, MS))) {
                hold(lock, nowUs() + (long) (leaseMs * 1000 * RETURN_MARGIN));
            }
            Thread.sleep(5 + dice.nextInt(50));
        }

        @Override
        public void run() {
            try {
                Torture.say(row + " ready");
                while (!stopping) {
                    turn();
                }
            } catch (InterruptedException ended) {
                /* nobody interrupts it */
            }
        }
    }

    private static void stop(List<Row> rows) throws InterruptedException {
        stopping = true;
        for (Row row : rows) {
            row.join();
        }
        say("- idle");
    }

    private static void close(List<Row> rows) {
        CLIENTS.values().parallelStream().forEach(c -> c.shutdown(0, 1000, MS));
        CLIENTS.clear();
        rows.clear();
        say("- done");
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        List<Row> rows = new ArrayList<>();
        for (String line; (line = in.readLine()) != null;) {
            if (line.startsWith("run ")) {
                stopping = false;
                rows.add(new Row(line.split(" ")));
                rows.get(rows.size() - 1).start();
            } else if (line.equals("stop")) {
                stop(rows);
            } else if (line.equals("close")) {
                close(rows);
            }
        }
        System.exit(0);
    }
}
