(* One question a line, one answer a line: "op n arg ...", n tokens. A law is a/b,a/b,..., a table laws with ; between,
   drafts i,i,... with - for none, nodes drafts with ; between. Anything else is answered "? ...". *)
open Oracle

let rec nat i = if i <= 0 then O else S (nat (i - 1))
let split c s = String.split_on_char c s
let big = Big_int_Z.big_int_of_string

let rat s =
  match split '/' s with
  | [ a; b ] -> rational (big a) (big b)
  | [ a ] -> rational (big a) (big "1")
  | _ -> failwith s

let show q = Big_int_Z.string_of_big_int (numerator q) ^ "/" ^ Big_int_Z.string_of_big_int (denominator q)
let vec s = List.map rat (split ',' s)
let table s = if s = "-" then [] else List.map vec (split ';' s)
let ids s = if s = "-" then [] else List.map (fun i -> nat (int_of_string i)) (split ',' s)
let nodes s = if s = "." then [] else List.map ids (split ';' s)
let int s = nat (int_of_string s)
let vocab s = nat (int_of_string s - 1)

let answer = function
  | [ "rejection"; n; p; q; x ] -> o_rejection (vocab n) (vec p) (vec q) (int x)
  | [ "naive"; n; p; x ] -> o_naive (vocab n) (vec p) (ids x)
  | [ "greedy"; n; a ] -> o_greedy (vocab n) (int a)
  | [ "recursive"; n; p; q; x ] -> o_recursive (vocab n) (vec p) (vec q) (ids x)
  | [ "recursive_wor"; n; p; q; x ] -> o_recursive_wor (vocab n) (vec p) (vec q) (ids x)
  | [ "greedy_draft"; n; p; q; top; x ] -> o_greedy_draft (vocab n) (vec p) (vec q) (ids top) (ids x)
  | [ "spechub"; n; p; q; a; swapped; x ] -> o_spechub (vocab n) (vec p) (vec q) (int a) (swapped = "1") (int x)
  | [ "kseq"; n; k; rho; p; q; x ] -> o_kseq (vocab n) (int k) (rat rho) (vec p) (vec q) (ids x)
  | [ "clipped"; n; c; d; p; q ] -> o_clipped (vocab n) (rat c) (rat d) (vec p) (vec q)
  | [ "label_law"; n; k; q; move; places ] ->
      o_label_law (vocab n) (nat (int_of_string k - 1)) (vec q) (table move) (ids places)
  | [ "labels"; n; k; c; d; p; q; places ] ->
      o_labels (vocab n) (nat (int_of_string k - 1)) (rat c) (rat d) (vec p) (vec q) (ids places)
  | [ "overlap"; n; p; q ] -> [ o_overlap (vocab n) (vec p) (vec q) ]
  | [ "tokenwise"; n; p; q; x ] -> o_tokenwise (vocab n) (table p) (table q) (ids x)
  | [ "block"; n; p; q; x ] -> o_block (vocab n) (table p) (table q) (ids x)
  | [ "greedy_block"; n; p; q; x ] -> o_greedy_block (vocab n) (table p) (table q) (ids x)
  | [ "greedy_texts"; n; p; q; x; words ] -> o_greedy_texts (vocab n) (table p) (table q) (ids x) (nodes words)
  | [ "renewal"; n; g; p; q; y ] -> o_renewal (vocab n) (int g) (table p) (table q) (ids y)
  | [ "block_tau"; n; g; p; q ] -> [ o_block_tau (vocab n) (int g) (table p) (table q) ]
  | [ "lifted"; n; p; q; step; up; x ] -> o_lifted (vocab n) (table p) (table q) (int step) (ids up) (ids x)
  | [ "walk"; n; p; q; step; up; x ] -> o_walk (vocab n) (table p) (table q) (int step) (ids up) (ids x)
  | [ "multipath_block"; n; p; q; up; x; places; k ] ->
      o_multipath (vocab n) (table p) (table q) (ids up) (ids x) (nodes places) (int k)
  | [ "traversal"; n; p; q; up; x ] -> o_traversal (vocab n) (table p) (table q) (ids up) (ids x)
  | [ "target_only"; n; p; up; x ] -> o_target_only (vocab n) (table p) (ids up) (ids x)
  | [ "target_only_tau"; n; g; p; t ] -> [ o_target_only_tau (vocab n) (int g) (table p) (nodes t) ]
  | _ -> failwith "unknown question"

let () =
  try
    while true do
      let line = input_line stdin in
      let reply = try String.concat "," (List.map show (answer (split ' ' line))) with Failure why -> "? " ^ why in
      print_endline reply
    done
  with End_of_file -> ()
