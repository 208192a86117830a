// A new example with every clock, while start is 1: its votes are there with done, 4 clocks later.
module @NAME@_clocked(
  input wire clock, reset, start,
  input wire [@INPUT@ - 1:0] x,
  output wire ready,
  output reg done,
  output reg [@OUTPUTS@ * @WIDTH@ - 1:0] votes,
  output reg [@LABEL@ - 1:0] label);
  wire [@BITS@ - 1:0] b;
  wire [@CLAUSES@ * @DIGITS@ - 1:0] said_now;
  wire [@GROUPS@ * @OUTPUTS@ * @WIDTH@ - 1:0] parts_now;
  wire [@OUTPUTS@ * @WIDTH@ - 1:0] votes_now;
  wire [@LABEL@ - 1:0] label_now;
  wire [@PLACE@ - 1:0] first = 0;
  reg [@CLAUSES@ * @DIGITS@ - 1:0] said;
  reg [@GROUPS@ * @OUTPUTS@ * @WIDTH@ - 1:0] parts;
  reg [@OUTPUTS@ * @WIDTH@ - 1:0] sums;
  reg [2:0] on_the_way;
  wire [@FEATURES@ - 1:0] p;
  genvar k;
  @NAME@_bits bits(x, b);
  generate
    for (k = 0; k < @PATCH_HEIGHT@; k = k + 1) begin : lines
      assign p[k * @PATCH_ROW@ +: @PATCH_ROW@] = b[k * @IMAGE_ROW@ +: @PATCH_ROW@];
    end
  endgenerate
  @NAME@_patch patch(first, first, p, said_now);
  @NAME@_parts of_groups(said, parts_now);
  @NAME@_votes of_all(parts, votes_now);
  @NAME@_label best(sums, label_now);
  assign ready = 1;
  always @(posedge clock) begin
    said <= said_now;
    parts <= parts_now;
    sums <= votes_now;
    votes <= sums;
    label <= label_now;
    {done, on_the_way} <= reset ? 4'd0 : {on_the_way, start};
  end
endmodule
