import { ApiProperty } from '@nestjs/swagger';
import { IsUUID } from 'class-validator';

/** The id in the address of what the service has named itself. */
export class RecordId {
  @IsUUID()
  @ApiProperty({ format: 'uuid' })
  id: string;
}
