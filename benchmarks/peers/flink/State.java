package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.flink.connector.base.sink.writer.BufferedRequestState;
import org.apache.flink.connector.base.sink.writer.RequestEntryWrapper;
import org.apache.flink.connector.base.sink.writer.strategy.RateLimitingStrategy;
import org.apache.flink.connector.base.sink.writer.strategy.RequestInfo;
import org.apache.flink.connector.base.sink.writer.strategy.ResultInfo;

/** The state of a writer that holds n entries: out to memory, in again, and how long taking it stops the writer. */
final class State {
  private final int n;
  private final int size;
  private final int warm;
  private final int repeats;

  private State(Args args) {
    n = args.number("n");
    size = args.number("size");
    warm = args.number("warm");
    repeats = args.number("repeats");
  }

  public static void main(String[] argv) throws Exception {
    Args args = new Args(argv);
    State s = new State(args);
    switch (args.text("what")) {
      case "out":
        s.out();
        break;
      case "in":
        s.in();
        break;
      case "pause":
        s.pause();
        break;
      default:
        throw new IllegalArgumentException("what: " + args.text("what"));
    }
    System.exit(0);
  }

  private void out() throws Exception {
    try (Task task = new Task()) {
      Writer w = holding(task);
      BufferedRequestState<Entry> state = w.snapshotState(1).get(0);
      Serializer s = new Serializer();
      long bytes = 0;
      for (int i = 0; i < warm; i++) {
        bytes = s.serialize(state).length;
      }
      Meter m = new Meter();
      for (int i = 0; i < repeats; i++) {
        bytes = s.serialize(state).length;
      }
      print(m.wall(), m.cpu(), bytes);
    }
  }

  private void in() throws Exception {
    byte[] data = new byte[size]; // one for all: what is measured makes its own
    List<RequestEntryWrapper<Entry>> entries = new ArrayList<>(n);
    for (int i = 0; i < n; i++) {
      Entry e = new Entry(data, Entry.key(i));
      entries.add(new RequestEntryWrapper<>(e, e.data.length));
    }
    Serializer s = new Serializer();
    byte[] bytes = s.serialize(new BufferedRequestState<>(entries));
    entries = null;
    for (int i = 0; i < warm; i++) {
      check(s.deserialize(1, bytes));
    }
    Meter m = new Meter();
    for (int i = 0; i < repeats; i++) {
      check(s.deserialize(1, bytes));
    }
    print(m.wall(), m.cpu(), bytes.length);
  }

  private void pause() throws Exception {
    try (Task task = new Task()) {
      Writer w = holding(task);
      double[] ms = new double[repeats];
      for (int i = -warm; i < repeats; i++) {
        Entry next = new Entry(new byte[size], Entry.key(i + warm));
        long before = System.nanoTime();
        List<BufferedRequestState<Entry>> state = w.snapshotState(1);
        w.write(next, Writer.CONTEXT);
        long after = System.nanoTime();
        if (state.get(0).getBufferedRequestEntries().size() != n + warm + i) {
          throw new IllegalStateException("entries are missing in the snapshot");
        }
        if (i >= 0) {
          ms[i] = (after - before) / 1e6;
        }
      }
      Arrays.sort(ms);
      Meter.print("pause_median_ms", ms[ms.length / 2], "pause_max_ms", ms[ms.length - 1]);
    }
  }

  /** A writer that holds n entries and sends none. */
  private Writer holding(Task task) throws Exception {
    Writer w = new Writer(task, n + warm + repeats + 1, new Never(), Collections.emptyList(), (entries, answer) -> {});
    for (int i = 0; i < n; i++) {
      w.write(new Entry(new byte[size], Entry.key(i)), Writer.CONTEXT);
    }
    return w;
  }

  private void check(BufferedRequestState<Entry> state) {
    if (state.getBufferedRequestEntries().size() != n) {
      throw new IllegalStateException("entries are missing");
    }
  }

  private void print(long wall, long cpu, long bytes) {
    double payload = (double) n * (size + Entry.KEYS[0].length());
    Meter.print(
        "entries", n,
        "gb_per_second", repeats * payload / wall,
        "gb_per_cpu_second", repeats * payload / cpu,
        "overhead_bytes_per_entry", (bytes - payload) / n);
  }

  private static final class Never implements RateLimitingStrategy {
    @Override
    public void registerInFlightRequest(RequestInfo r) {}

    @Override
    public void registerCompletedRequest(ResultInfo r) {}

    @Override
    public boolean shouldBlock(RequestInfo r) {
      return true;
    }

    @Override
    public int getMaxBatchSize() {
      return Writer.BATCH;
    }
  }
}
