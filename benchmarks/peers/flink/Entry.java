package bench;

import java.io.Serializable;

/** What a destination takes: a key and its data, as Kinesis has it. */
final class Entry implements Serializable {
  static final String[] KEYS = new String[1024];

  static {
    for (int i = 0; i < KEYS.length; i++) {
      KEYS[i] = String.format("key-%012d", i);
    }
  }

  final byte[] data;
  final String key;

  Entry(byte[] data, String key) {
    this.data = data;
    this.key = key;
  }

  static String key(long i) {
    return KEYS[(int) (i & (KEYS.length - 1))];
  }
}
