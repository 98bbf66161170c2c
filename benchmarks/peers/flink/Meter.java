package bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;

/** Wall time, CPU time of the process (all threads: collector, compiler, destination) and of the calling thread, from one moment on. */
final class Meter {
  private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final long cpu = processCPU();
  private final long thread = threadCPU();
  private final long wall = System.nanoTime();

  /** Nanoseconds. */
  long wall() {
    return System.nanoTime() - wall;
  }

  long cpu() {
    return processCPU() - cpu;
  }

  long thread() {
    return threadCPU() - thread;
  }

  private static long processCPU() {
    return SYSTEM.getProcessCpuTime();
  }

  private static long threadCPU() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  /** Prints figures, given as name, value, name, value, as the line that the runner reads. */
  static void print(Object... figures) {
    StringBuilder line = new StringBuilder("{");
    for (int i = 0; i < figures.length; i += 2) {
      line.append(String.format(Locale.ROOT, "%s\"%s\":%s", i == 0 ? "" : ",", figures[i], ((Number) figures[i + 1]).doubleValue()));
    }
    System.out.println(line.append('}'));
  }
}
