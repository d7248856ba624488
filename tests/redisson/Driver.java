import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RBucket;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * A real Redisson client that does what it is told, until its input ends.
 *
 * <pre>
 *   java Driver kinds            the kinds of locks that this version has
 *   java Driver URL WATCHDOG     "ready UUID", then a line for each line:
 *                                THREAD VERB [KIND NAME [NUMBER...]]
 * </pre>
 *
 * An answer begins with the number of its thread. A thread, which is an owner,
 * does one thing after the other; threads do not wait for each other. All times
 * are in ms.
 *
 * <pre>
 *   acquire [LEASE]              ok                   without LEASE: watchdog
 *   try [LEASE]                  true | false
 *   wait WAIT [LEASE]            true | false
 *   acquire-token                the token            fenced alone
 *   try-token                    the token | null
 *   token                        the latest
 *   unlock                       ok | refused
 *   force-unlock                 true | false
 *   locked                       true | false
 *   count                        this thread's hold count
 *   ttl                          ms
 *   owner                        (no KIND, no NAME) this thread's field
 *   add KEY TIMES                ok, after so many locked read-add-writes
 *   mix TIMES LONGEST            after so many turns, how many holds were lost: of each
 *                                eight turns one waits for some ms and may time out, of
 *                                each fifty one holds for up to LONGEST, the others for
 *                                up to 3
 *   contend THREADS HOLD MS [GATE]
 *                                for so long, by so many threads, each holding
 *                                for HOLD us: grants, the median wait and the
 *                                longest, us; with GATE 1 each takes the fair
 *                                lock NAME:gate before, and then releases it
 * </pre>
 *
 * KIND "multi" is a MultiLock of plain locks, whose NAME is theirs: "a+b"; "quorum" a
 * RedLock of them. A turn of "contend" may also be of the kinds below: of a latch,
 * its count is set to 1 and counted down.
 *
 * Of the kinds semaphore and latch, which are no locks:
 *
 * <pre>
 *   set N                        true | false         permits, or the count
 *   acquire [N]                  ok                   latch: waits for it
 *   try N                        true | false         semaphore alone
 *   wait [N] WAIT                true | false         latch: without N
 *   unlock [N]                   ok                   latch: counts down
 *   count                        permits, or the count
 *   delete                       true | false
 *   turns N                      ok, after taking and releasing one permit so
 *                                often                semaphore alone
 * </pre>
 *
 * Of the kind permit, which has expirable ones:
 *
 * <pre>
 *   set N                        true | false
 *   acquire [LEASE]              its id               without LEASE: no end
 *   wait WAIT LEASE              its id | null
 *   unlock ID                    true | false
 *   count                        permits
 * </pre>
 *
 * IllegalMonitorStateException is answered as "refused", any other as "error".
 */
public final class Driver {
    private static final String[][] GETTERS = {
        {"lock", "getLock"}, {"fair", "getFairLock"},
        {"fenced", "getFencedLock"}, {"nonreentrant", "getNonReentrantLock"},
        {"spin", "getSpinLock"},
    };
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private final RedissonClient client;
    private final Map<String, ExecutorService> threads = new HashMap<>();

    private Driver(RedissonClient client) {
        this.client = client;
    }

    /* ---- kinds: newer ones are not in the older version's API ---- */

    private static Method getter(String kind) {
        for (String[] row : GETTERS) {
            try {
                if (row[0].equals(kind)) {
                    return RedissonClient.class.getMethod(row[1], String.class);
                }
            } catch (NoSuchMethodException older) {
                return null;
            }
        }
        return null;
    }

    private static String kinds() {
        StringBuilder kinds = new StringBuilder("read write");
        for (String[] row : GETTERS) {
            kinds.append(getter(row[0]) == null ? "" : " " + row[0]);
        }
        return kinds.toString();
    }

    private RLock[] members(String names) {
        return Arrays.stream(names.split("\\+")).map(client::getLock).toArray(RLock[]::new);
    }

    @SuppressWarnings("deprecation") /* what there is of quorums */
    private RLock lock(String kind, String name) throws Exception {
        switch (kind) {
        case "read":
            return client.getReadWriteLock(name).readLock();
        case "write":
            return client.getReadWriteLock(name).writeLock();
        case "multi":
            return client.getMultiLock(members(name));
        case "quorum":
            return new RedissonRedLock(members(name));
        default:
            return (RLock) getter(kind).invoke(client, name);
        }
    }

    private static String token(RLock fenced, String method) throws Exception {
        Class<?> type = getter("fenced").getReturnType();
        return String.valueOf(type.getMethod(method).invoke(fenced));
    }

    /* ---- many locked steps ---- */

    private void add(RLock lock, String key, int times) {
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

    /* ---- turns that time out, and holds of any length ---- */

    private static boolean takeMixed(RLock lock, int i) throws InterruptedException {
        if (i % 8 == 5) {
            return lock.tryLock(1 + i % 50, -1, MS);
        }
        lock.lock();
        return true;
    }

    private static int mix(RLock lock, int times, long longest)
            throws InterruptedException {
        int lost = 0;
        for (int i = 0; i < times; i++) {
            if (!takeMixed(lock, i)) {
                continue;
            }
            Thread.sleep(i % 50 == 20 ? longest / 2 + i % 7 * longest / 14 : i % 4);
            try {
                lock.unlock();
            } catch (IllegalMonitorStateException late) {
                lost++;
            }
        }
        return lost;
    }

    /** One turn: takes, and says how it is given back. */
    private interface Turn {
        Runnable take() throws Exception;
    }

    private static Runnable take(RLock lock, RLock gate) {
        if (gate != null) {
            gate.lock();
        }
        lock.lock();
        if (gate != null) {
            gate.unlock();
        }
        return lock::unlock;
    }

    private Turn turn(String kind, String name, boolean hasGate) throws Exception {
        switch (kind) {
        case "semaphore":
            return () -> {
                client.getSemaphore(name).acquire();
                return client.getSemaphore(name)::release;
            };
        case "permit":
            return () -> {
                String id = client.getPermitExpirableSemaphore(name).acquire(30000, MS);
                return () -> client.getPermitExpirableSemaphore(name).release(id);
            };
        case "latch":
            return () -> {
                client.getCountDownLatch(name).trySetCount(1);
                return client.getCountDownLatch(name)::countDown;
            };
        default:
            RLock lock = lock(kind, name);
            RLock gate = hasGate ? client.getFairLock(name + ":gate") : null;
            return () -> take(lock, gate);
        }
    }

    private static void takeTurns(Turn turn, long holdUs, long endNs, Queue<Long> waits) {
        try {
            while (System.nanoTime() < endNs) {
                long began = System.nanoTime();
                Runnable giveBack = turn.take();
                waits.add(System.nanoTime() - began);
                LockSupport.parkNanos(holdUs * 1000);
                giveBack.run();
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static String contend(Turn turn, long threads, long holdUs, long ms)
            throws InterruptedException {
        Queue<Long> waits = new ConcurrentLinkedQueue<>();
        long endNs = System.nanoTime() + ms * 1000000;
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            all.add(new Thread(() -> takeTurns(turn, holdUs, endNs, waits)));
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

    /* ---- what is counted ---- */

    @SuppressWarnings("deprecation") /* what the oldest version has, too */
    private static String count(String verb, RSemaphore semaphore, List<String> args)
            throws InterruptedException {
        int n = (int) number(args, 0, 1);
        switch (verb) {
        case "set":
            return String.valueOf(semaphore.trySetPermits(n));
        case "acquire":
            semaphore.acquire(n);
            return "ok";
        case "try":
            return String.valueOf(semaphore.tryAcquire(n));
        case "wait":
            return String.valueOf(semaphore.tryAcquire(n, number(args, 1, 0), MS));
        case "unlock":
            semaphore.release(n);
            return "ok";
        case "count":
            return String.valueOf(semaphore.availablePermits());
        case "delete":
            return String.valueOf(semaphore.delete());
        case "turns":
            for (int i = 0; i < n; i++) {
                semaphore.acquire();
                semaphore.release();
            }
            return "ok";
        default:
            return "what?";
        }
    }

    private static String count(String verb, RCountDownLatch latch, List<String> args)
            throws InterruptedException {
        switch (verb) {
        case "set":
            return String.valueOf(latch.trySetCount(number(args, 0, 1)));
        case "acquire":
            latch.await();
            return "ok";
        case "wait":
            return String.valueOf(latch.await(number(args, 0, 0), MS));
        case "unlock":
            latch.countDown();
            return "ok";
        case "count":
            return String.valueOf(latch.getCount());
        case "delete":
            return String.valueOf(latch.delete());
        default:
            return "what?";
        }
    }

    private static String count(String verb, RPermitExpirableSemaphore semaphore,
            List<String> args) throws InterruptedException {
        switch (verb) {
        case "set":
            return String.valueOf(semaphore.trySetPermits((int) number(args, 0, 1)));
        case "acquire":
            return args.isEmpty() ? semaphore.acquire()
                    : semaphore.acquire(number(args, 0, 0), MS);
        case "wait":
            return String.valueOf(
                    semaphore.tryAcquire(number(args, 0, 0), number(args, 1, 0), MS));
        case "unlock":
            return String.valueOf(semaphore.tryRelease(args.get(0)));
        case "count":
            return String.valueOf(semaphore.availablePermits());
        default:
            return "what?";
        }
    }

    /* ---- a command ---- */

    private static long number(List<String> args, int index, long otherwise) {
        return args.size() > index ? Long.parseLong(args.get(index)) : otherwise;
    }

    private String act(String verb, RLock lock, List<String> args) throws Exception {
        switch (verb) {
        case "acquire":
            lock.lock(number(args, 0, -1), MS);
            return "ok";
        case "try":
            return String.valueOf(args.isEmpty() ? lock.tryLock()
                    : lock.tryLock(0, number(args, 0, -1), MS));
        case "wait":
            return String.valueOf(lock.tryLock(number(args, 0, 0), number(args, 1, -1), MS));
        case "acquire-token":
            return token(lock, "lockAndGetToken");
        case "try-token":
            return token(lock, "tryLockAndGetToken");
        case "token":
            return token(lock, "getToken");
        case "unlock":
            lock.unlock();
            return "ok";
        case "force-unlock":
            return String.valueOf(lock.forceUnlock());
        case "locked":
            return String.valueOf(lock.isLocked());
        case "count":
            return String.valueOf(lock.getHoldCount());
        case "ttl":
            return String.valueOf(lock.remainTimeToLive());
        case "mix":
            return String.valueOf(mix(lock, (int) number(args, 0, 0), number(args, 1, 0)));
        case "add":
            add(lock, args.get(0), (int) number(args, 1, 0));
            return "ok";
        default:
            return "what?";
        }
    }

    private String act(List<String> words) throws Exception {
        List<String> args = words.subList(4, words.size());
        if (words.get(1).equals("contend")) {
            return contend(turn(words.get(2), words.get(3), number(args, 3, 0) != 0),
                    number(args, 0, 1), number(args, 1, 0), number(args, 2, 0));
        }
        switch (words.get(2)) {
        case "semaphore":
            return count(words.get(1), client.getSemaphore(words.get(3)), args);
        case "permit":
            return count(words.get(1),
                    client.getPermitExpirableSemaphore(words.get(3)), args);
        case "latch":
            return count(words.get(1), client.getCountDownLatch(words.get(3)), args);
        default:
            return act(words.get(1), lock(words.get(2), words.get(3)), args);
        }
    }

    private String answer(List<String> words) {
        try {
            if (words.get(1).equals("owner")) {
                return client.getId() + ":" + Thread.currentThread().getId();
            }
            return act(words);
        } catch (IllegalMonitorStateException refused) {
            return "refused";
        } catch (InvocationTargetException wrapped) {
            return "error " + wrapped.getCause();
        } catch (Exception other) {
            return "error " + other;
        }
    }

    private void command(String line) {
        List<String> words = Arrays.asList(line.split(" "));
        String thread = words.get(0);
        threads.computeIfAbsent(thread, key -> Executors.newSingleThreadExecutor())
                .execute(() -> System.out.println(thread + " " + answer(words)));
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("kinds")) {
            System.out.println(kinds());
            return;
        }
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(args[1]));
        config.setCodec(StringCodec.INSTANCE);
        config.useSingleServer().setAddress(args[0]).setConnectionMinimumIdleSize(1);
        Driver driver = new Driver(Redisson.create(config));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready " + driver.client.getId());
        for (String line; (line = in.readLine()) != null;) {
            driver.command(line);
        }
        System.exit(0); /* threads that wait for a lock, too, end now */
    }
}
