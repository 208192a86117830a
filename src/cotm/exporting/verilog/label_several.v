// For each output whether it has 0 votes or more.
module @NAME@_label(
  input wire [@OUTPUTS@ * @WIDTH@ - 1:0] votes, output wire [@LABEL@ - 1:0] label);
  genvar i;
  generate
    for (i = 0; i < @OUTPUTS@; i = i + 1) begin : outputs
      assign label[i] = !votes[i * @WIDTH@ + @WIDTH@ - 1];
    end
  endgenerate
endmodule
