package org.apache.flink.streaming.runtime.tasks;

import org.apache.flink.api.common.operators.MailboxExecutor;

/** Opens Flink's package-private timers, wired as StreamTask wires them. */
public final class Timers {
  private Timers() {}

  public static SystemProcessingTimeService system() {
    return new SystemProcessingTimeService(Throwable::printStackTrace);
  }

  public static ProcessingTimeService forMailbox(TimerService timers, MailboxExecutor executor) {
    return new ProcessingTimeServiceImpl(
        timers,
        callback -> time -> executor.execute(() -> callback.onProcessingTime(time), "Timer callback for %s @ %d", callback, time));
  }
}
