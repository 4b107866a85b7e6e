/* JIT code, interpreted code, garbage collector threads, and waiting. */
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Load {
	public static void main(String[] args) throws Exception {
		for (long round = 0;; round++) {
			List<String> words = new ArrayList<>();
			Map<String, Integer> counts = new HashMap<>();
			for (int i = 0; i < 20000; i++)
				words.add("word" + (i * 7919L + round) % 1000);
			Collections.sort(words);
			for (String word : words)
				counts.merge(word, 1, Integer::sum);
			Thread.sleep(2);
		}
	}
}
