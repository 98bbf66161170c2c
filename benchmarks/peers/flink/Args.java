package bench;

import java.util.HashMap;
import java.util.Map;

/** Arguments of the form name=value. */
final class Args {
  private final Map<String, String> values = new HashMap<>();

  Args(String[] args) {
    for (String a : args) {
      int at = a.indexOf('=');
      if (at < 0) {
        throw new IllegalArgumentException(a + ": want name=value");
      }
      values.put(a.substring(0, at), a.substring(at + 1));
    }
  }

  String text(String name) {
    String value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException(name + ": missing");
    }
    return value;
  }

  int number(String name) {
    return Integer.parseInt(text(name));
  }
}
