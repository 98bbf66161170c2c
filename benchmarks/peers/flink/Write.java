package bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.flink.connector.base.sink.writer.ResultHandler;
import org.apache.flink.connector.base.sink.writer.strategy.AIMDScalingStrategy;
import org.apache.flink.connector.base.sink.writer.strategy.CongestionControlRateLimitingStrategy;
import org.apache.flink.connector.base.sink.writer.strategy.NoOpScalingStrategy;
import org.apache.flink.connector.base.sink.writer.strategy.RateLimitingStrategy;

/** The way of records from write to settled: the peer of the runner's own program of that name. */
final class Write {
  private static final int BUFFERED = 10_000;

  private final Args args;
  private final int failing;
  private long delivered;
  private long requests;
  private long failed;

  private Write(Args args) {
    this.args = args;
    this.failing = args.number("failing");
  }

  public static void main(String[] argv) throws Exception {
    Args args = new Args(argv);
    for (int i = 0; i < args.number("warm"); i++) {
      new Write(args).run();
    }
    Write w = new Write(args);
    Meter m = new Meter();
    w.run();
    double n = args.number("n");
    long wall = m.wall(), cpu = m.cpu(), thread = m.thread();
    Meter.print(
        "records", n,
        "cpu_ns_per_record", cpu / n,
        "thread_cpu_ns_per_record", thread / n,
        "records_per_second", n * 1e9 / wall,
        "entries_per_request", (n + w.failed) / w.requests,
        "retried_per_record", w.failed / n);
    System.exit(0);
  }

  /** Writes n records and waits until all are delivered. */
  private void run() throws Exception {
    int n = args.number("n");
    byte[] data = new byte[args.number("size")];
    ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(1);
    try (Task task = new Task()) {
      Writer w = new Writer(task, BUFFERED, strategy(args.text("strategy")), Collections.emptyList(), destination(pool));
      for (long i = 0; i < n; i++) {
        w.write(new Entry(data, Entry.key(i)), Writer.CONTEXT);
        task.mails();
      }
      w.flush(true);
    }
    pool.shutdown();
    if (!pool.awaitTermination(10, TimeUnit.SECONDS) || delivered != n) {
      throw new IllegalStateException("delivered " + delivered + " of " + n);
    }
  }

  private BiConsumer<List<Entry>, ResultHandler<Entry>> destination(ScheduledThreadPoolExecutor pool) {
    if (args.text("destination").equals("null")) {
      return (entries, answer) -> {
        requests++;
        delivered += entries.size();
        answer.complete();
      };
    }
    return (entries, answer) -> {
      long number = ++requests;
      pool.schedule(() -> answer(number, entries, answer), 1, TimeUnit.MILLISECONDS);
    };
  }

  /** Runs on the pool's one thread. */
  private void answer(long number, List<Entry> entries, ResultHandler<Entry> answer) {
    List<Entry> again = null;
    if (failing > 0) {
      for (int i = 0; i < entries.size(); i++) {
        if (fails(number, i)) {
          if (again == null) {
            again = new ArrayList<>(entries.size() / 8 + 1);
          }
          again.add(entries.get(i));
        }
      }
    }
    if (again == null) {
      delivered += entries.size();
      answer.complete();
      return;
    }
    delivered += entries.size() - again.size();
    failed += again.size();
    answer.retryForEntries(again);
  }

  /** Whether entry i of a request fails: SplitMix64 of both, as in the runner's own program. */
  private boolean fails(long number, int i) {
    long z = (number << 20 | i) * 0x9e3779b97f4a7c15L;
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return Long.remainderUnsigned(z ^ z >>> 31, 100) < failing;
  }

  private static RateLimitingStrategy strategy(String name) {
    int all = Writer.BATCH * Writer.IN_FLIGHT;
    switch (name) {
      case "default":
        return null;
      case "kinesis": // as Flink's Kinesis sink has it
        return CongestionControlRateLimitingStrategy.builder()
            .setMaxInFlightRequests(Writer.IN_FLIGHT)
            .setInitialMaxInFlightMessages(Writer.BATCH)
            .setScalingStrategy(AIMDScalingStrategy.builder(all).setIncreaseRate(10).setDecreaseFactor(0.99).build())
            .build();
      case "fixed":
        return CongestionControlRateLimitingStrategy.builder()
            .setMaxInFlightRequests(Writer.IN_FLIGHT)
            .setInitialMaxInFlightMessages(all)
            .setScalingStrategy(new NoOpScalingStrategy<>())
            .build();
      default:
        throw new IllegalArgumentException("strategy: " + name);
    }
  }
}
