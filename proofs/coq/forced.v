(* T43: of all block lengths with the same sum, those that differ by one at most have the least sum of every convex
   function: the least variance, and the least mean of what exceeds any threshold. *)
Require Import prelude.

Section Forced.
Variable R : realFieldType.
Implicit Types (f : nat -> R) (s : seq nat).

Definition rising f := forall n, f n.+1 - f n <= f n.+2 - f n.+1.

(* slopes grow: f is convex *)
Lemma slopes_grow f m n : rising f -> (m <= n)%N -> f m.+1 - f m <= f n.+1 - f n.
Proof.
move=> cf /subnK <-; elim: (n - m)%N => [|k IH] //=.
exact: le_trans IH (cf _).
Qed.

(* how far f lies above the line through q and q + 1 *)
Definition above f q n := f n - (f q + (n%:R - q%:R) * (f q.+1 - f q)).

Lemma aboveS f q n : above f q n.+1 = above f q n + ((f n.+1 - f n) - (f q.+1 - f q)).
Proof. by rewrite /above mulrS; ring. Qed.

Lemma above_ge0 f q n : rising f -> 0 <= above f q n.
Proof.
move=> cf; have at_q : above f q q = 0 by rewrite /above subrr mul0r addr0 subrr.
case: (leqP q n) => [le|lt].
  rewrite -(subnK le); elim: (n - q)%N => [|k IH]; first by rewrite add0n at_q.
  rewrite addSn aboveS addr_ge0 // subr_ge0; apply: slopes_grow => //; exact: leq_addl.
have down k m : (m + k = q)%N -> 0 <= above f q m.
  elim: k m => [|k IH] m sum; first by rewrite -[m]addn0 sum at_q.
  have next : 0 <= above f q m.+1 by apply: IH; rewrite addSnnS.
  apply: le_trans next _; rewrite aboveS ger_addl subr_le0.
  by apply: slopes_grow => //; rewrite -sum leq_addr.
by apply: (down (q - n)%N); rewrite subnKC // ltnW.
Qed.

(* S = size s * q + r: the balanced lengths have the least sum *)
Theorem balanced_least f s q r : rising f -> (sumn s = size s * q + r)%N ->
  ((size s)%:R - r%:R) * f q + r%:R * f q.+1 <= \sum_(x <- s) f x.
Proof.
move=> cf sum.
have -> : \sum_(x <- s) f x = (size s)%:R * f q + ((sumn s)%:R - (size s)%:R * q%:R) * (f q.+1 - f q)
  + \sum_(x <- s) above f q x.
  elim: (s) => [|x t IH] /=; first by rewrite !big_nil !mul0r subrr mul0r !addr0.
  rewrite !big_cons IH; move: (\sum_(y <- t) above f q y) => rest.
  rewrite /above natrD [(size t).+1%:R]mulrS; move: (f x) (f q) (f q.+1) => fx fq fn.
  by ring.
have -> : (sumn s)%:R - (size s)%:R * q%:R = r%:R :> R by rewrite sum natrD natrM addrAC subrr add0r.
have -> : ((size s)%:R - r%:R) * f q + r%:R * f q.+1 = (size s)%:R * f q + r%:R * (f q.+1 - f q).
  by rewrite mulrBl mulrBr -addrA [- _ + _]addrC.
by rewrite ler_addl; apply: sumr_ge0 => x _; apply: above_ge0.
Qed.

(* the lengths that an engine forces: r blocks of q + 1 tokens, the others of q *)
Definition balanced k q r := nseq (k - r) q ++ nseq r q.+1.

Lemma balanced_sum k q r : (r <= k)%N -> (sumn (balanced k q r) = k * q + r)%N.
Proof. by move=> le; rewrite sumn_cat !sumn_nseq mulSn addnCA -mulnDr subnK // addnC mulnC. Qed.

Lemma balanced_size k q r : (r <= k)%N -> size (balanced k q r) = k.
Proof. by move=> le; rewrite size_cat !size_nseq subnK. Qed.

Lemma balanced_value f k q r : (r <= k)%N ->
  \sum_(x <- balanced k q r) f x = (k%:R - r%:R) * f q + r%:R * f q.+1.
Proof.
by move=> le; rewrite -natrB // !mulr_natl big_cat /= !big_nseq !iter_addr_0.
Qed.

(* what exceeds a threshold is convex, so its mean is never larger than with other lengths: tails are understated *)
Definition beyond (t : R) (n : nat) : R := Num.max (n%:R - t) 0.

Lemma beyond_rising t : rising (beyond t).
Proof.
move=> n; rewrite ler_subr_addr addrAC ler_subl_addr.
have twice : (n.+1%:R - t) + (n.+1%:R - t) = (n.+2%:R - t) + (n%:R - t).
  by rewrite addrACA [RHS]addrACA -!natrD [in RHS]addSnnS.
have ge x : 0 <= Num.max x 0 :> R by rewrite le_maxr lexx orbT.
have up (x : R) : x <= Num.max x 0 by rewrite le_maxr lexx.
rewrite {1 2}/beyond; case: (lerP (n.+1%:R - t) 0) => [_|_]; first by rewrite addr0 addr_ge0 // ge.
by rewrite twice ler_add // up.
Qed.

Theorem tail_understated (t : R) s q r : (sumn s = size s * q + r)%N -> (r <= size s)%N ->
  \sum_(x <- balanced (size s) q r) beyond t x <= \sum_(x <- s) beyond t x.
Proof. by move=> sum le; rewrite balanced_value //; apply: balanced_least => //; apply: beyond_rising. Qed.
End Forced.
