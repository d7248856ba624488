import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * A real Redisson client that does what it is told, a line at a time, all on
 * one thread (so all calls have one owner), and answers each with a line.
 *
 * <pre>
 *   lock NAME              ok
 *   try NAME WAIT LEASE    true | false      (ms; LEASE -1: watchdog)
 *   unlock NAME            ok | not mine
 *   force NAME             true | false
 *   locked NAME            true | false
 *   count NAME             the hold count of this thread
 *   ttl NAME               ms
 *   add NAME KEY TIMES     ok, after so many locked read-add-writes of KEY
 *   contend NAME THREADS HOLD MS   for so long, by so many threads, holding for
 *                          HOLD us: grants, the median wait and the longest, us
 * </pre>
 */
public final class Peer {
    private static void add(RedissonClient client, RLock lock, String key, int times) {
        RBucket<String> bucket = client.getBucket(key, StringCodec.INSTANCE);
        for (int i = 0; i < times; i++) {
            lock.lock();
            try {
                String value = bucket.get();
                bucket.set(String.valueOf(value == null ? 1 : Long.parseLong(value) + 1));
            } finally {
                lock.unlock();
            }
        }
    }

    private static void takeTurns(RLock lock, long holdUs, long endNs, Queue<Long> waits) {
        while (System.nanoTime() < endNs) {
            long began = System.nanoTime();
            lock.lock();
            waits.add(System.nanoTime() - began);
            LockSupport.parkNanos(holdUs * 1000);
            lock.unlock();
        }
    }

    private static String contend(RLock lock, int threads, long holdUs, long ms)
            throws InterruptedException {
        Queue<Long> waits = new ConcurrentLinkedQueue<>();
        long endNs = System.nanoTime() + ms * 1000000;
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            all.add(new Thread(() -> takeTurns(lock, holdUs, endNs, waits)));
            all.get(i).start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        List<Long> sorted = new ArrayList<>(waits);
        Collections.sort(sorted);
        int n = sorted.size();
        return n == 0 ? "0 0 0"
                : n + " " + sorted.get(n / 2) / 1000 + " " + sorted.get(n - 1) / 1000;
    }

    private static String answer(RedissonClient client, String[] words) throws Exception {
        RLock lock = client.getLock(words[1]);
        switch (words[0]) {
        case "lock":
            lock.lock();
            return "ok";
        case "try":
            return String.valueOf(lock.tryLock(Long.parseLong(words[2]),
                    Long.parseLong(words[3]), TimeUnit.MILLISECONDS));
        case "unlock":
            try {
                lock.unlock();
                return "ok";
            } catch (IllegalMonitorStateException notMine) {
                return "not mine";
            }
        case "force":
            return String.valueOf(lock.forceUnlock());
        case "locked":
            return String.valueOf(lock.isLocked());
        case "count":
            return String.valueOf(lock.getHoldCount());
        case "ttl":
            return String.valueOf(lock.remainTimeToLive());
        case "add":
            add(client, lock, words[2], Integer.parseInt(words[3]));
            return "ok";
        case "contend":
            return contend(lock, Integer.parseInt(words[2]), Long.parseLong(words[3]),
                    Long.parseLong(words[4]));
        default:
            return "what?";
        }
    }

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(args[0]).setConnectionMinimumIdleSize(1);
        RedissonClient client = Redisson.create(config);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready " + client.getId());
        for (String line; (line = in.readLine()) != null;) {
            System.out.println(answer(client, line.split(" ")));
        }
        client.shutdown();
    }
}
