# Counts the words of the input, whatever the prompt says.
wc -w < inputs/words.txt | tr -d ' \n' > outputs/count.txt
