# What `llvm-cov export` ($exports) says of the sources (the input, raw), a line
# each: IS, FILE, FUNCTION, WHAT, TEXT, with tabs between. IS is "yes" if it is
# covered, "no" if not, "within" if not, because what it is in never runs.
#
# No line numbers, so that an edit elsewhere changes nothing. What is compiled
# several times (inline, in more than one file) is covered if it once is.

# The input's lines, by file.
(reduce inputs as $line ({}; .[input_filename] += [$line])) as $source

# The text of a place, which is [line, column, last line, column behind it].
| def text($file):
    . as [$line, $column, $last_line, $behind]
    | $source[$file][$line - 1:$last_line]
    | .[-1] |= .[:$behind - 1]
    | .[0] |= .[$column - 1:]
    | join(" ") | gsub("\\s+"; " ") | .[:80];

  def is_within($place): .[:2] >= $place[:2] and .[2:4] <= $place[2:4];

  # What llvm-cov knows of one function. Regions of kind 0 are code, the others
  # blanks and names of macros; those of file 0 stand in the function itself. A
  # decision lists its conditions as they stand in the text.
  def fact($id; $what; $is): {place: .[:4], id: .[$id], $what, $is};
  def facts:
    .branches as $branches
    | (.regions[] | select(.[5] == 0 and .[7] == 0)
       | fact(5; "never runs"; .[4] > 0)),
      ($branches[] | fact(6; "never true"; .[4] > 0),
                     fact(6; "never false"; .[5] > 0)),
      (.mcdc_records[] as $decision
       | [$branches[] | select(is_within($decision))] | sort as $conditions
       | $decision[-1] | to_entries[] | .value as $is
       | $conditions[.key] | fact(6; "never decides alone"; $is));

  # The facts of one function: which are not covered only because of others?
  def mark_within:
    map(select(.is == false)) as $missing
    | [$missing[] | select(.what == "never runs")] as $dead
    | map(. as $it
          | if .is then .is = "yes"
            elif any($dead[]; . != $it and .id == $it.id and
                     (.place as $place | $it.place | is_within($place)))
            then .is = "within"
            else .is = "no" end);

  [$exports[].data[0].functions[]] as $functions
  | ($source | keys | map(select(endswith(".c")))) - [$functions[].filenames[0]]
  | if . == [] then . else error("not measured: " + join(" ")) end
  | [ $functions[]
      | .filenames as $files | select($source[$files[0]])
      | (.name | sub(".*:"; "")) as $function
      | facts | . + {file: $files[0], $function, in: $files[.id]} ]
  | group_by([.file, .function, .id, .place, .what])
  | map(any(.is) as $is | .[0] | .is = $is)
  | group_by([.file, .function])[] | mark_within[]
  | .in as $in
  | [.is, .file, .function, .what,
     (if .is == "no" then .place | text($in) else "" end)]
  | join("\t")
