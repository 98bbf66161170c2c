package bench;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.flink.connector.base.sink.writer.AsyncSinkWriterStateSerializer;

/** The entry's part of the state in the form of Flink's Kinesis sink: data, length of the key, key. */
final class Serializer extends AsyncSinkWriterStateSerializer<Entry> {
  @Override
  protected void serializeRequestToStream(Entry e, DataOutputStream out) throws IOException {
    out.write(e.data);
    byte[] key = e.key.getBytes(StandardCharsets.UTF_8);
    out.writeInt(key.length);
    out.write(key);
  }

  @Override
  protected Entry deserializeRequestFromStream(long size, DataInputStream in) throws IOException {
    byte[] data = new byte[(int) size];
    in.readFully(data);
    byte[] key = new byte[in.readInt()];
    in.readFully(key);
    return new Entry(data, new String(key, StandardCharsets.UTF_8));
  }

  @Override
  public int getVersion() {
    return 1;
  }
}
