// The number of the class with the most votes, the first of equals.
module @NAME@_label(
  input wire [@OUTPUTS@ * @WIDTH@ - 1:0] votes, output reg [@LABEL@ - 1:0] label);
  reg signed [@WIDTH@ - 1:0] best, other;
  integer i;
  always @* begin
    label = 0;
    best = votes[0 +: @WIDTH@];
    for (i = 1; i < @OUTPUTS@; i = i + 1) begin
      other = votes[i * @WIDTH@ +: @WIDTH@];
      if (other > best) begin
        label = i;
        best = other;
      end
    end
  end
endmodule
