// A patch with every clock: after start, while ready, votes are there with done.
module @NAME@_clocked(
  input wire clock, reset, start,
  input wire [@INPUT@ - 1:0] x,
  output wire ready,
  output reg done,
  output reg [@OUTPUTS@ * @WIDTH@ - 1:0] votes,
  output reg [@LABEL@ - 1:0] label);
  wire [@BITS@ - 1:0] b;
  wire [@CLAUSES@ * @DIGITS@ - 1:0] here, better;
  wire [@GROUPS@ * @OUTPUTS@ * @WIDTH@ - 1:0] parts_now;
  wire [@OUTPUTS@ * @WIDTH@ - 1:0] votes_now;
  wire [@LABEL@ - 1:0] label_now;
  reg [@BITS@ - 1:0] image;
  reg [@PLACE@ - 1:0] row, column;
  reg [@CLAUSES@ * @DIGITS@ - 1:0] said;
  reg [@GROUPS@ * @OUTPUTS@ * @WIDTH@ - 1:0] parts;
  reg [@OUTPUTS@ * @WIDTH@ - 1:0] sums;
  reg busy;
  reg [2:0] on_the_way;
  wire [@FEATURES@ - 1:0] p;
  wire last = busy & (row == @ROWS@ - 1) & (column == @COLUMNS@ - 1);
  genvar k, j;
  @NAME@_bits bits(x, b);
  generate
    for (k = 0; k < @PATCH_HEIGHT@; k = k + 1) begin : lines
      assign p[k * @PATCH_ROW@ +: @PATCH_ROW@] =
        image[(row * @STRIDE_ROWS@ + k) * @IMAGE_ROW@ + column * @STRIDE_COLUMNS@ * @CHANNELS@
              +: @PATCH_ROW@];
    end
    for (j = 0; j < @CLAUSES@; j = j + 1) begin : clauses
      assign better[j * @DIGITS@ +: @DIGITS@] =
        here[j * @DIGITS@ +: @DIGITS@] > said[j * @DIGITS@ +: @DIGITS@]
          ? here[j * @DIGITS@ +: @DIGITS@] : said[j * @DIGITS@ +: @DIGITS@];
    end
  endgenerate
  @NAME@_patch patch(row, column, p, here);
  @NAME@_parts of_groups(said, parts_now);
  @NAME@_votes of_all(parts, votes_now);
  @NAME@_label best(sums, label_now);
  assign ready = !busy;
  always @(posedge clock) begin
    if (reset) begin
      busy <= 0;
    end else if (!busy) begin
      if (start) begin
        image <= b;
        row <= 0;
        column <= 0;
        said <= 0;
        busy <= 1;
      end
    end else begin
      said <= better;
      column <= column == @COLUMNS@ - 1 ? 0 : column + 1;
      if (column == @COLUMNS@ - 1) row <= row + 1;
      if (last) busy <= 0;
    end
    parts <= parts_now;
    sums <= votes_now;
    votes <= sums;
    label <= label_now;
    {done, on_the_way} <= reset ? 4'd0 : {on_the_way, last};
  end
endmodule
