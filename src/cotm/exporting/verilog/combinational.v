// All at once: votes of output i are the @WIDTH@ bits from i * @WIDTH@ on, in two's complement.
module @NAME@(
  input wire [@INPUT@ - 1:0] x,
  output wire [@OUTPUTS@ * @WIDTH@ - 1:0] votes,
  output wire [@LABEL@ - 1:0] label);
  wire [@BITS@ - 1:0] b;
  wire [@PATCHES@ * @CLAUSES@ * @DIGITS@ - 1:0] places;
  wire [@CLAUSES@ * @DIGITS@ - 1:0] said;
  wire [@GROUPS@ * @OUTPUTS@ * @WIDTH@ - 1:0] parts;
  genvar r, c, k, j;
  @NAME@_bits bits(x, b);
  generate
    for (r = 0; r < @ROWS@; r = r + 1) begin : rows
      for (c = 0; c < @COLUMNS@; c = c + 1) begin : columns
        wire [@FEATURES@ - 1:0] p;
        wire [@PLACE@ - 1:0] row = r, column = c;
        for (k = 0; k < @PATCH_HEIGHT@; k = k + 1) begin : lines
          assign p[k * @PATCH_ROW@ +: @PATCH_ROW@] =
            b[(r * @STRIDE_ROWS@ + k) * @IMAGE_ROW@ + c * @STRIDE_COLUMNS@ * @CHANNELS@
              +: @PATCH_ROW@];
        end
        @NAME@_patch patch(row, column, p,
          places[(r * @COLUMNS@ + c) * @CLAUSES@ * @DIGITS@ +: @CLAUSES@ * @DIGITS@]);
      end
    end
    for (j = 0; j < @CLAUSES@; j = j + 1) begin : clauses
      reg [@DIGITS@ - 1:0] most;
      integer at;
      always @* begin
        most = 0;
        for (at = 0; at < @PATCHES@; at = at + 1)
          if (places[(at * @CLAUSES@ + j) * @DIGITS@ +: @DIGITS@] > most)
            most = places[(at * @CLAUSES@ + j) * @DIGITS@ +: @DIGITS@];
      end
      assign said[j * @DIGITS@ +: @DIGITS@] = most;
    end
  endgenerate
  @NAME@_parts sums(said, parts);
  @NAME@_votes all(parts, votes);
  @NAME@_label best(votes, label);
endmodule

