package bench;

import java.util.Collection;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.connector.base.sink.writer.AsyncSinkWriter;
import org.apache.flink.connector.base.sink.writer.BufferedRequestState;
import org.apache.flink.connector.base.sink.writer.DequeRequestBuffer;
import org.apache.flink.connector.base.sink.writer.ResultHandler;
import org.apache.flink.connector.base.sink.writer.SimpleBatchCreator;
import org.apache.flink.connector.base.sink.writer.config.AsyncSinkWriterConfiguration;
import org.apache.flink.connector.base.sink.writer.strategy.RateLimitingStrategy;

/** Flink's AsyncSinkWriter with its own buffer and batches; only the destination is ours. */
final class Writer extends AsyncSinkWriter<Entry, Entry> {
  static final int BATCH = 500;
  static final int IN_FLIGHT = 50;
  static final long BATCH_BYTES = 4L << 20;

  static final SinkWriter.Context CONTEXT =
      new SinkWriter.Context() {
        @Override
        public long currentWatermark() {
          return 0;
        }

        @Override
        public Long timestamp() {
          return null;
        }
      };

  private final BiConsumer<List<Entry>, ResultHandler<Entry>> destination;

  /** A null strategy is Flink's default. */
  Writer(
      Task task,
      int buffered,
      RateLimitingStrategy strategy,
      Collection<BufferedRequestState<Entry>> state,
      BiConsumer<List<Entry>, ResultHandler<Entry>> destination) {
    super((e, c) -> e, task, configuration(buffered, strategy), state, new SimpleBatchCreator<>(BATCH_BYTES), new DequeRequestBuffer<>());
    this.destination = destination;
  }

  private static AsyncSinkWriterConfiguration configuration(int buffered, RateLimitingStrategy strategy) {
    AsyncSinkWriterConfiguration.AsyncSinkWriterConfigurationBuilder b =
        AsyncSinkWriterConfiguration.builder()
            .setMaxBatchSize(BATCH)
            .setMaxBatchSizeInBytes(BATCH_BYTES)
            .setMaxInFlightRequests(IN_FLIGHT)
            .setMaxBufferedRequests(buffered)
            .setMaxTimeInBufferMS(100)
            .setMaxRecordSizeInBytes(1L << 20);
    if (strategy != null) {
      b.setRateLimitingStrategy(strategy);
    }
    return b.build();
  }

  @Override
  protected void submitRequestEntries(List<Entry> entries, ResultHandler<Entry> answer) {
    destination.accept(entries, answer);
  }

  /** Of the data alone, as Flink's Kinesis sink has it: the serializer reads so many bytes back. */
  @Override
  protected long getSizeInBytes(Entry e) {
    return e.data.length;
  }
}
