package bench;

import java.util.OptionalLong;
import org.apache.flink.api.common.JobInfo;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.metrics.groups.SinkWriterMetricGroup;
import org.apache.flink.runtime.metrics.groups.InternalSinkWriterMetricGroup;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.streaming.runtime.tasks.StreamTaskActionExecutor;
import org.apache.flink.streaming.runtime.tasks.SystemProcessingTimeService;
import org.apache.flink.streaming.runtime.tasks.Timers;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxExecutorImpl;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;
import org.apache.flink.util.UserCodeClassLoader;

/** What a Flink task lends to a sink's writer: the real mailbox and the real timers, on the calling thread. */
final class Task implements WriterInitContext, AutoCloseable {
  private final TaskMailboxImpl mailbox = new TaskMailboxImpl(Thread.currentThread());
  private final MailboxExecutorImpl executor = new MailboxExecutorImpl(mailbox, 0, StreamTaskActionExecutor.IMMEDIATE);
  private final SystemProcessingTimeService timers = Timers.system();
  private final ProcessingTimeService time = Timers.forMailbox(timers, executor);
  private final SinkWriterMetricGroup metrics =
      InternalSinkWriterMetricGroup.wrap(UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup());

  /** Runs the mails that wait, as a task does between two records. */
  void mails() throws Exception {
    if (mailbox.hasMail()) {
      while (executor.tryYield()) {}
    }
  }

  @Override
  public void close() {
    timers.shutdownService();
  }

  @Override
  public MailboxExecutor getMailboxExecutor() {
    return executor;
  }

  @Override
  public ProcessingTimeService getProcessingTimeService() {
    return time;
  }

  @Override
  public SinkWriterMetricGroup metricGroup() {
    return metrics;
  }

  @Override
  public OptionalLong getRestoredCheckpointId() {
    return OptionalLong.empty();
  }

  @Override
  public boolean isObjectReuseEnabled() {
    return false;
  }

  // A writer asks for none of these.

  @Override
  public UserCodeClassLoader getUserCodeClassLoader() {
    return null;
  }

  @Override
  public SerializationSchema.InitializationContext asSerializationSchemaInitializationContext() {
    return null;
  }

  @Override
  public <IN> TypeSerializer<IN> createInputSerializer() {
    return null;
  }

  @Override
  public JobInfo getJobInfo() {
    return null;
  }

  @Override
  public TaskInfo getTaskInfo() {
    return null;
  }
}
